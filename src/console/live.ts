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
/** While somebody looks, the next poll begins sooner than this after the one before. */
const oldAfterMs = 5_000;

/** `build`: of the page, which finds out by it that it is an older one. */
export function createLive(parts: ObserveParts & { log: Log; build: string }) {
  const listeners = new Set<Send>();
  /** Those who are sent nothing before a poll has ended, because what is known is old; with their last event. */
  const newcomers = new Map<Send, string | undefined>();
  const replay = createReplay(randomBytes(6).toString("hex"));
  const observe = createObserve(parts);
  let known: WholeState = { rollout: null, fleet: null, trouble: [] };
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;
  /** Whether something was changed since the poll that is under way has begun. */
  let isDue = false;
  let beats: NodeJS.Timeout | undefined;
  let polledAtMs = Number.NEGATIVE_INFINITY;

  const beat = (): LiveEvent => {
    return { name: "beat", data: { now: new Date().toISOString(), build: parts.build } };
  };

  const broadcast = (event: LiveEvent) => {
    for (const send of listeners) send(event);
  };

  const sendState = (state: WholeState) => {
    const before = replay.state();
    const changes = before === undefined ? null : diffStates(before, state);
    if (changes === null) broadcast(replay.replace(state));
    else if (changes !== undefined) broadcast(replay.change(state, changes));
  };

  const welcome = (send: Send, lastId: string | undefined) => {
    send(beat());
    for (const event of replay.since(lastId)) send(event);
    listeners.add(send);
  };

  const pollOnce = async () => {
    known = await observe(known);
    sendState(known);
    polledAtMs = performance.now();
    for (const [send, lastId] of newcomers) welcome(send, lastId);
    newcomers.clear();
  };

  const isWatched = () => listeners.size + newcomers.size > 0;

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
        if (isWatched()) timer = setTimeout(poll, waitMs);
      });
  };

  return {
    /**
     * Sends what has changed since the event `lastId` if it is known, else the whole state, and then every new event.
     * What nobody looked at for a while is read anew before. Returns a function that ends this.
     */
    listen(send: Send, lastId: string | undefined): () => void {
      const isOld = listeners.size === 0 && performance.now() - polledAtMs > oldAfterMs;
      if (isOld) newcomers.set(send, lastId);
      else welcome(send, lastId);
      // By a timer of their own: a poll may take as long as a page waits for a sign of life.
      beats ??= setInterval(() => broadcast(beat()), beatEveryMs);
      if (!isPolling) poll();
      return () => {
        listeners.delete(send);
        newcomers.delete(send);
        if (isWatched()) return;
        clearTimeout(timer);
        clearInterval(beats);
        beats = undefined;
      };
    },
    /** Polls at once, after an operator has changed something. */
    poll,
  };
}

function paceOf({ rollout }: WholeState): keyof typeof everyMs {
  const state = rollout?.status.state;
  return state === "in_progress" || state === "rolling_back" ? "active" : "idle";
}
