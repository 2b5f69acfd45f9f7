/** Polls the rollout while a client is connected, and sends all clients the same events. */
import { randomBytes } from "node:crypto";
import type { Log } from "#kernel/log.ts";
import { diffStates } from "./changes.ts";
import type { LiveEvent, WholeState } from "./events.ts";
import { createReplay } from "./live-replay.ts";
import { createObserve, type ObserveParts } from "./observe.ts";

type Send = (event: LiveEvent) => void;

export type Live = ReturnType<typeof createLive>;

/** Polling interval in ms: while a rollout or rollback runs, and otherwise. */
const everyMs = { active: 700, idle: 2_500 };
/** A poll that takes long, of a large fleet or on a busy machine, is followed by a pause this many times as long. */
const restShare = 2;
const longestRestMs = 3_000;
const beatEveryMs = 5_000;

export function createLive(parts: ObserveParts & { log: Log }) {
  const listeners = new Set<Send>();
  const replay = createReplay(randomBytes(6).toString("hex"));
  const observe = createObserve(parts);
  let known: WholeState = { rollout: null, fleet: null, trouble: [] };
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;
  /** Whether something was changed since the poll that is under way has begun. */
  let isDue = false;
  let beats: NodeJS.Timeout | undefined;

  const broadcast = (event: LiveEvent) => {
    for (const send of listeners) send(event);
  };

  const sendState = (state: WholeState) => {
    const before = replay.state();
    const changes = before === undefined ? null : diffStates(before, state);
    if (changes === null) broadcast(replay.replace(state));
    else if (changes !== undefined) broadcast(replay.change(state, changes));
  };

  const pollOnce = async () => {
    known = await observe(known);
    sendState(known);
  };

  const poll = () => {
    clearTimeout(timer);
    isDue = isPolling;
    if (isPolling) return;
    isPolling = true;
    const startedMs = performance.now();
    void pollOnce()
      .catch((err) => parts.log.error({ err }, "console could not read the rollout"))
      .finally(() => {
        isPolling = false;
        if (isDue) return poll();
        const tookMs = performance.now() - startedMs;
        const restMs = Math.min(tookMs * restShare, longestRestMs);
        const waitMs = Math.max(everyMs[paceOf(known)], restMs);
        if (listeners.size > 0) timer = setTimeout(poll, waitMs);
      });
  };

  return {
    /**
     * Sends what has changed since the event `lastId` if it is known, else the whole state, and then every new event.
     * Returns a function that ends this.
     */
    listen(send: Send, lastId: string | undefined): () => void {
      for (const event of replay.since(lastId)) send(event);
      send(beat());
      listeners.add(send);
      // By a timer of their own: a poll may take as long as a page waits for a sign of life.
      beats ??= setInterval(() => broadcast(beat()), beatEveryMs);
      if (!isPolling) poll();
      return () => {
        listeners.delete(send);
        if (listeners.size > 0) return;
        clearTimeout(timer);
        clearInterval(beats);
        beats = undefined;
      };
    },
    /** Polls at once, after an operator has changed something. */
    poll,
  };
}

function beat(): LiveEvent {
  return { name: "beat", data: { now: new Date().toISOString() } };
}

function paceOf({ rollout }: WholeState): keyof typeof everyMs {
  const state = rollout?.status.state;
  return state === "in_progress" || state === "rolling_back" ? "active" : "idle";
}
