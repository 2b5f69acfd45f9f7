/** Buffers the last changes of the fleet, so that a client that reconnects continues where it was. */
import type { FleetChanges, FleetColumns, LiveEventName } from "./contract.ts";
import { countCells } from "./fleet-columns.ts";

export type LiveEvent = { name: LiveEventName; id?: string; data: unknown };

/** With more changed cells than this, sending the whole fleet is shorter. */
const keptCells = 20_000;

type ReplayEntry = { number: number; changes: FleetChanges };

/** `epoch` distinguishes the event ids of this process from those of an earlier one. */
export function createReplay(epoch: string) {
  let current: FleetColumns | undefined;
  let number = 0;
  let kept: ReplayEntry[] = [];
  /** `kept` has every change after this number. */
  let since = 0;

  const idOf = (n: number) => `${epoch}.${n}`;

  const forgetOldest = () => {
    let cells = kept.reduce((sum, { changes }) => sum + countCells(changes), 0);
    while (cells > keptCells && kept.length > 0) {
      const oldest = kept.shift();
      cells -= oldest === undefined ? 0 : countCells(oldest.changes);
      since = oldest?.number ?? since;
    }
  };

  const missedAfter = (lastId: string): ReplayEntry[] | undefined => {
    const [givenEpoch, text] = lastId.split(".");
    const last = Number(text);
    const isKnown = givenEpoch === epoch && last >= since && last <= number;
    return isKnown ? kept.filter((entry) => entry.number > last) : undefined;
  };

  return {
    columns: () => current,
    /** Sets new columns that are not a change of the previous ones. Returns the event's id. */
    replace(columns: FleetColumns): string {
      current = columns;
      number += 1;
      since = number;
      kept = [];
      return idOf(number);
    },
    change(columns: FleetColumns, changes: FleetChanges): string {
      current = columns;
      number += 1;
      kept.push({ number, changes });
      forgetOldest();
      return idOf(number);
    },
    /** The events after `lastId`; for undefined or an unknown id, the whole fleet. */
    since(lastId: string | undefined): LiveEvent[] {
      const missed = lastId === undefined ? undefined : missedAfter(lastId);
      if (missed !== undefined) {
        return missed.map((entry) => ({
          name: "marks",
          id: idOf(entry.number),
          data: entry.changes,
        }));
      }
      return current === undefined ? [] : [{ name: "fleet", id: idOf(number), data: current }];
    },
  };
}
