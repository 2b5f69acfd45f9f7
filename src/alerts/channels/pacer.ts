/**
 * Limits how much a destination gets at once. The order of a check's events is kept by its own queue: here
 * events of many checks wait for a moment, and are sent back to their queues if that is not enough. It
 * counts within one process; what several send together is limited by the destination's own answers.
 */
import { performance } from "node:perf_hooks";
import { LRUCache } from "lru-cache";

export type Pace = {
  /** The time from one attempt to the next, on average; 0: any. */
  spacingMs: number;
  /** The number of attempts that may follow each other at once after a pause. */
  burst: number;
  /** The number of attempts that may run at the same time. */
  atOnce: number;
};

/** `release` is to be called when the attempt has ended. `afterMs`: try again then, nothing may be sent now. */
type Turn = { release: () => void } | { afterMs: number };

export type Pacer = {
  /** Waits `patienceMs` at most. */
  take: (destination: string, pace: Pace) => Promise<Turn>;
  /** Nothing is sent there for so long, as it has asked; a minute at most. */
  hold: (destination: string, forMs: number) => void;
};

type Lane = {
  /** The due time of the next attempt if all were spaced evenly. */
  dueAtMs: number;
  heldUntilMs: number;
  /** The last moment for which an attempt was sent back to its queue. */
  promisedAtMs: number;
  running: number;
  waiting: Set<() => void>;
};

/** Much less than the limit of an attempt: an event's queue is locked meanwhile. */
const patienceMs = 3_000;
const longestHoldMs = 60_000;
/** Between those that are sent back because too many run: how long an attempt takes is not known. */
const slowSpacingMs = 250;
const mostLanes = 1_000;

/** `clockMs` must not go back. */
export function createPacer(clockMs: () => number = () => performance.now()): Pacer {
  const lanes = new LRUCache<string, Lane>({ max: mostLanes });
  const laneOf = (destination: string) => {
    const lane = lanes.get(destination) ?? newLane();
    lanes.set(destination, lane);
    return lane;
  };
  return {
    async take(destination, pace) {
      const lane = laneOf(destination);
      const startMs = clockMs();
      const waitMs = waitOf(lane, pace, startMs);
      if (waitMs > patienceMs) return postpone(lane, pace, startMs);
      lane.dueAtMs = Math.max(lane.dueAtMs, startMs, lane.heldUntilMs) + pace.spacingMs;
      if (waitMs > 0) await pass(waitMs);
      if (await enter(lane, pace, patienceMs - waitMs)) return { release: releaseOf(lane) };
      return postpone(lane, pace, clockMs());
    },
    hold(destination, forMs) {
      const lane = laneOf(destination);
      const untilMs = clockMs() + Math.min(forMs, longestHoldMs);
      lane.heldUntilMs = Math.max(lane.heldUntilMs, untilMs);
    },
  };
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function newLane(): Lane {
  return { dueAtMs: 0, heldUntilMs: 0, promisedAtMs: 0, running: 0, waiting: new Set() };
}

function waitOf({ dueAtMs, heldUntilMs }: Lane, pace: Pace, nowMs: number): number {
  const spacedAtMs = dueAtMs - (pace.burst - 1) * pace.spacingMs;
  return Math.max(spacedAtMs, heldUntilMs, nowMs) - nowMs;
}

/** Each gets a moment of its own, so that they do not all come back together. */
function postpone(lane: Lane, pace: Pace, nowMs: number): Turn {
  const freeAtMs = nowMs + Math.max(patienceMs, waitOf(lane, pace, nowMs));
  const spacingMs = pace.spacingMs || slowSpacingMs;
  lane.promisedAtMs = Math.max(lane.promisedAtMs + spacingMs, freeAtMs);
  return { afterMs: Math.ceil(lane.promisedAtMs - nowMs) };
}

/** True if one of the places was free, or became free in time. */
async function enter(lane: Lane, { atOnce }: Pace, limitMs: number): Promise<boolean> {
  if (lane.running < atOnce) {
    lane.running += 1;
    return true;
  }
  const called = Promise.withResolvers<boolean>();
  const call = () => called.resolve(true);
  lane.waiting.add(call);
  const timer = setTimeout(() => {
    if (lane.waiting.delete(call)) called.resolve(false);
  }, limitMs);
  return called.promise.finally(() => clearTimeout(timer));
}

/** The place goes to the one that waits longest. */
function releaseOf(lane: Lane): () => void {
  return () => {
    const [next] = lane.waiting;
    if (next === undefined) {
      lane.running -= 1;
      return;
    }
    lane.waiting.delete(next);
    next();
  };
}
