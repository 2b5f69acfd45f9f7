/** Buffers the last changes, so that a client that reconnects continues where it was. */
import type { Changes, LiveEvent, WholeState } from "./events.ts";

/** Of JSON. With more than this the whole state is sent: it is not much longer, even for a large fleet. */
const keptLength = 512 * 1024;

type Entry = { number: number; event: LiveEvent; length: number };

/** `epoch` distinguishes the event ids of this process from those of an earlier one. */
export function createReplay(epoch: string) {
  let current: WholeState | undefined;
  let number = 0;
  let kept: Entry[] = [];
  /** `kept` has every change after this number. */
  let since = 0;

  const idOf = (n: number) => `${epoch}.${n}`;

  const forgetOldest = () => {
    let length = kept.reduce((sum, entry) => sum + entry.length, 0);
    while (length > keptLength && kept.length > 0) {
      const oldest = kept.shift();
      length -= oldest?.length ?? 0;
      since = oldest?.number ?? since;
    }
  };

  const missedAfter = (lastId: string): Entry[] | undefined => {
    const [givenEpoch, text] = lastId.split(".");
    const last = Number(text);
    const isKnown = givenEpoch === epoch && last >= since && last <= number;
    return isKnown ? kept.filter((entry) => entry.number > last) : undefined;
  };

  return {
    state: () => current,
    /** Sets a state that no changes lead to from the previous one. Returns its event. */
    replace(state: WholeState): LiveEvent {
      current = state;
      number += 1;
      since = number;
      kept = [];
      return { name: "state", id: idOf(number), data: state };
    },
    /** Returns the event of the changes that lead to this state. */
    change(state: WholeState, changes: Changes): LiveEvent {
      current = state;
      number += 1;
      const event: LiveEvent = { name: "changes", id: idOf(number), data: changes };
      kept.push({ number, event, length: JSON.stringify(changes).length });
      forgetOldest();
      return event;
    },
    /** The events after `lastId`; for undefined or an unknown id, the whole state. */
    since(lastId: string | undefined): LiveEvent[] {
      const missed = lastId === undefined ? undefined : missedAfter(lastId);
      if (missed !== undefined) return missed.map(({ event }) => event);
      return current === undefined ? [] : [{ name: "state", id: idOf(number), data: current }];
    },
  };
}
