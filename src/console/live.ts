/** Watches the rollout while someone looks, and tells everyone who looks the same events. */
import { randomBytes } from "node:crypto";
import type { Log } from "#kernel/log.ts";
import type { FleetColumns, LiveRollout, Trouble } from "./contract.ts";
import { countCells, diffColumns } from "./fleet-columns.ts";
import { createReplay, type LiveEvent } from "./live-replay.ts";
import { createObserve, type ObserveParts } from "./observe.ts";

type Send = (event: LiveEvent) => void;

export type Live = ReturnType<typeof createLive>;

/** How often is looked, in ms: while something moves, and while nothing does. */
const everyMs = { active: 700, quiet: 2_500 };
const beatEveryMs = 5_000;

export function createLive(parts: ObserveParts & { log: Log }) {
  const listeners = new Set<Send>();
  const replay = createReplay(randomBytes(6).toString("hex"));
  const observe = createObserve(parts);
  const said: { rollout?: LiveRollout; trouble: Trouble } = { trouble: [] };
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let beatAtMs = Number.NEGATIVE_INFINITY;

  const tell = (event: LiveEvent) => {
    for (const send of listeners) send(event);
  };

  const tellRollout = (rollout: LiveRollout) => {
    const { rollout: before } = said;
    said.rollout = rollout;
    if (before === undefined) return tell({ name: "rollout", data: rollout });
    const data = changedParts(before, rollout);
    if (Object.keys(data).length > 0) tell({ name: "progress", data });
  };

  const tellTrouble = (trouble: Trouble) => {
    if (JSON.stringify(said.trouble) === JSON.stringify(trouble)) return;
    said.trouble = trouble;
    tell({ name: "trouble", data: trouble });
  };

  const tellFleet = (columns: FleetColumns) => {
    const before = replay.columns();
    const changes = before === undefined ? null : diffColumns(before, columns);
    if (changes === null) tell({ name: "fleet", id: replay.replace(columns), data: columns });
    else if (countCells(changes) > 0) {
      tell({ name: "marks", id: replay.change(columns, changes), data: changes });
    }
  };

  const look = async () => {
    const { rollout, columns, trouble } = await observe(said.rollout);
    if (rollout !== undefined) tellRollout(rollout);
    if (columns !== undefined) tellFleet(columns);
    tellTrouble(trouble);
    if (performance.now() - beatAtMs < beatEveryMs) return;
    beatAtMs = performance.now();
    tell({ name: "beat", data: { now: new Date().toISOString() } });
  };

  const go = () => {
    clearTimeout(timer);
    if (isLooking) return;
    isLooking = true;
    void look()
      .catch((err) => parts.log.error({ err }, "console could not look"))
      .finally(() => {
        isLooking = false;
        if (listeners.size > 0) timer = setTimeout(go, everyMs[paceOf(said.rollout)]);
      });
  };

  return {
    /** Sends what is known, or what was missed since the event `lastId`, and then what comes. */
    listen(send: Send, lastId: string | undefined): () => void {
      if (said.rollout !== undefined) send({ name: "rollout", data: said.rollout });
      for (const event of replay.since(lastId)) send(event);
      send({ name: "trouble", data: said.trouble });
      listeners.add(send);
      go();
      return () => {
        listeners.delete(send);
        if (listeners.size === 0) clearTimeout(timer);
      };
    },
    /** Looks at once: someone has just done something. */
    look: go,
  };
}

/** Every part of a rollout is always there: nothing has to be taken away. */
function changedParts(before: LiveRollout, after: LiveRollout): Partial<LiveRollout> {
  const known = new Map(Object.entries(before).map(([name, part]) => [name, JSON.stringify(part)]));
  const changed = Object.entries(after).filter(
    ([name, part]) => known.get(name) !== JSON.stringify(part),
  );
  return Object.fromEntries(changed);
}

function paceOf(rollout: LiveRollout | undefined): keyof typeof everyMs {
  const state = rollout?.status.state;
  return state === "in_progress" || state === "rolling_back" ? "active" : "quiet";
}
