/** Replaces the process of one sentinel: starts the new one until it is healthy, then ends the old one. */
import { setTimeout as delay } from "node:timers/promises";
import { inTime } from "#kernel/async.ts";
import { endProcess } from "#kernel/process.ts";
import {
  activateChild,
  type Probe,
  probeChild,
  type StartedChild,
  startChild,
} from "./process-child.ts";
import type { SentinelState, StateFiles } from "./process-state.ts";

export type ReplacementParts = {
  files: StateFiles;
  apiUrl: string;
  rootKey: string;
  upstreamUrl: string;
  trustedProxies: readonly string[];
  /** The time for which a new process may take to become healthy. */
  readyTimeoutMs: number;
  /** True if the process that served before is started again: it logs where it did. */
  isRevival?: boolean;
};

const probeEveryMs = 100;

/** The time for which a process has to be healthy before it counts: many crash right after their start. */
const minHealthyMs = 400;

/** The time for which health checks may fail before the replacement fails. */
const failingForMs = 3_000;

const endPolitely = { signal: "SIGTERM", graceMs: 12_000 } as const;

/**
 * Brings `state.image` into service. Every step is stored, so that a restarted driver finds which
 * processes exist: none is started, or left as a candidate, that cannot be stored. What serves then is returned in any
 * case, for the caller to store. A failed replacement leaves the old process serving.
 */
export async function replaceProcess(
  state: SentinelState,
  parts: ReplacementParts,
): Promise<SentinelState> {
  if (state.candidate !== null) await endProcess(state.candidate, endPolitely);
  const { image } = state;
  const { files, isRevival = false } = parts;
  const moveLog = (to: "serving" | "failed") => {
    if (!isRevival) files.moveLog(state.id, to);
  };
  let current: SentinelState = { ...state, candidate: null, failure: null };
  const save = (change: Partial<SentinelState>) => {
    current = { ...current, ...change };
    files.write(current);
  };
  const saveEnd = (change: Partial<SentinelState>) => {
    try {
      save(change);
    } catch {
      // The file still names the candidate, which a restarted driver ends.
    }
  };
  try {
    save({});
    const logFile = isRevival ? files.logFile(state.id, "serving") : files.beginLog(state.id);
    const started = await startChild({ ...parts, ...state, logFile });
    const { child } = started;
    save({ candidate: child });
    await untilHealthy(started, { id: state.id, image }, parts.readyTimeoutMs);
    await activateChild(child);
    const old = current.serving;
    moveLog("serving");
    saveEnd({ serving: child, candidate: null, runningImage: image });
    if (old !== null) await endProcess(old, endPolitely);
  } catch (error) {
    if (current.candidate !== null) {
      await endProcess(current.candidate, { signal: "SIGKILL", graceMs: 0 });
    }
    moveLog("failed");
    saveEnd({ candidate: null, failure: (error as Error).message });
  }
  return current;
}

/** Resolves once the child has been healthy for a while; throws with a reason code otherwise. */
async function untilHealthy(
  { child, ending }: StartedChild,
  expected: { id: string; image: string },
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let streak: Streak = { state: "starting", sinceMs: performance.now() };
  while (performance.now() < deadline) {
    const probe = await probeChild(child, expected);
    if (probe.state === "gone") throw new Error(await awaitReason(ending));
    streak = continueStreak(streak, probe.state, performance.now());
    const lastedMs = performance.now() - streak.sinceMs;
    if (probe.state === "healthy" && lastedMs >= minHealthyMs) return;
    if (probe.state === "failing" && lastedMs >= failingForMs) throw new Error(probe.reason);
    await delay(probeEveryMs);
  }
  throw new Error("progress_deadline: the process was not healthy in time");
}

/** The exit event comes shortly after a process is gone, on a busy machine later. */
const exitEventMs = 5_000;

function awaitReason(ending: Promise<string>): Promise<string> {
  const otherwise = "crash_loop: the process ended";
  return inTime(() => ending, { limitMs: exitEventMs, otherwise });
}

/** The state that every probe has found since `sinceMs`. */
type Streak = { state: Probe["state"]; sinceMs: number };

function continueStreak(streak: Streak, state: Probe["state"], nowMs: number): Streak {
  return streak.state === state ? streak : { state, sinceMs: nowMs };
}
