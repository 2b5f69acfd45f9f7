/** Polls the rollout while a client is connected, and sends all clients the same events. */
import { randomBytes } from "node:crypto";
import type { Log } from "#kernel/log.ts";
import type { FleetColumns, LiveRollout, Trouble } from "./contract.ts";
import { countCells, diffColumns } from "./fleet-columns.ts";
import { createReplay, type LiveEvent } from "./live-replay.ts";
import { createObserve, type ObserveParts } from "./observe.ts";

type Send = (event: LiveEvent) => void;

export type Live = ReturnType<typeof createLive>;

/** Polling interval in ms: while a rollout or rollback runs, and otherwise. */
const everyMs = { active: 700, idle: 2_500 };
const beatEveryMs = 5_000;

export function createLive(parts: ObserveParts & { log: Log }) {
  const listeners = new Set<Send>();
  const replay = createReplay(randomBytes(6).toString("hex"));
  const observe = createObserve(parts);
  const sent: { rollout?: LiveRollout; trouble: Trouble } = { trouble: [] };
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;
  let beatAtMs = Number.NEGATIVE_INFINITY;

  const broadcast = (event: LiveEvent) => {
    for (const send of listeners) send(event);
  };

  const sendRollout = (rollout: LiveRollout) => {
    const { rollout: before } = sent;
    sent.rollout = rollout;
    if (before === undefined) return broadcast({ name: "rollout", data: rollout });
    const data = changedParts(before, rollout);
    if (Object.keys(data).length > 0) broadcast({ name: "progress", data });
  };

  const sendTrouble = (trouble: Trouble) => {
    if (JSON.stringify(sent.trouble) === JSON.stringify(trouble)) return;
    sent.trouble = trouble;
    broadcast({ name: "trouble", data: trouble });
  };

  const sendFleet = (columns: FleetColumns) => {
    const before = replay.columns();
    const changes = before === undefined ? null : diffColumns(before, columns);
    if (changes === null) broadcast({ name: "fleet", id: replay.replace(columns), data: columns });
    else if (countCells(changes) > 0) {
      broadcast({ name: "marks", id: replay.change(columns, changes), data: changes });
    }
  };

  const pollOnce = async () => {
    const { rollout, columns, trouble } = await observe(sent.rollout);
    if (rollout !== undefined) sendRollout(rollout);
    if (columns !== undefined) sendFleet(columns);
    sendTrouble(trouble);
    if (performance.now() - beatAtMs < beatEveryMs) return;
    beatAtMs = performance.now();
    broadcast({ name: "beat", data: { now: new Date().toISOString() } });
  };

  const poll = () => {
    clearTimeout(timer);
    if (isPolling) return;
    isPolling = true;
    void pollOnce()
      .catch((err) => parts.log.error({ err }, "console could not read the rollout"))
      .finally(() => {
        isPolling = false;
        if (listeners.size > 0) timer = setTimeout(poll, everyMs[paceOf(sent.rollout)]);
      });
  };

  return {
    /**
     * Sends the current state, of the fleet only the changes since the event `lastId` if it is known, and then
     * every new event. Returns a function that ends this.
     */
    listen(send: Send, lastId: string | undefined): () => void {
      if (sent.rollout !== undefined) send({ name: "rollout", data: sent.rollout });
      for (const event of replay.since(lastId)) send(event);
      send({ name: "trouble", data: sent.trouble });
      listeners.add(send);
      poll();
      return () => {
        listeners.delete(send);
        if (listeners.size === 0) clearTimeout(timer);
      };
    },
    /** Polls at once, after an operator has changed something. */
    poll,
  };
}

/** Every part of a rollout is always present, so no part ever has to be removed. */
function changedParts(before: LiveRollout, after: LiveRollout): Partial<LiveRollout> {
  const known = new Map(Object.entries(before).map(([name, part]) => [name, JSON.stringify(part)]));
  const changed = Object.entries(after).filter(
    ([name, part]) => known.get(name) !== JSON.stringify(part),
  );
  return Object.fromEntries(changed);
}

function paceOf(rollout: LiveRollout | undefined): keyof typeof everyMs {
  const state = rollout?.status.state;
  return state === "in_progress" || state === "rolling_back" ? "active" : "idle";
}
