/** Starts the monitor whenever a worker starts, and watches for what is due; what runs already does not change. */
import pLimit from "p-limit";
import { pause, startBackground } from "#kernel/async.ts";
import { patience, sendToRestate } from "#kernel/ingress.ts";
import type { Log } from "#kernel/log.ts";
import { drillService } from "#monitor/drills/contract.ts";
import type { Outage } from "#monitor/state/outage.ts";
import type { States } from "#monitor/state/store.ts";
import type { Heartbeat, ReadDefinitions } from "./contract.ts";
import { type JobSuccess, jobHeartbeats } from "./internal.ts";

type Parts = { readDefinitions: ReadDefinitions; states: States; outage: Outage; log: Log };

/** `ingressUrl` is Restate's own. Throws when Restate accepts a call not within half a minute. */
export async function startMonitor(
  ingressUrl: string,
  { readDefinitions, ...parts }: Parts,
): Promise<{ stop: () => Promise<void> }> {
  await parts.states.decideAll();
  const watch = watchStates(parts);
  const { heartbeats } = await readDefinitions();
  const limit = pLimit(32);
  const send = (path: string) =>
    limit(() => sendToRestate({ ingressUrl, path }, {}, patience.start));
  await Promise.all(drillsOf(heartbeats).map((id) => send(`/${drillService}/${id}/start`)));
  return watch;
}

export function drillsOf(heartbeats: readonly Heartbeat[]): string[] {
  return heartbeats.filter(({ drill }) => drill !== undefined).map(({ id }) => id);
}

/** The call for a timed job that ended well. */
export function notifyHeartbeats(request: JobSuccess) {
  return { service: jobHeartbeats.name, handler: "succeeded", request };
}

type WatchParts = {
  states: Pick<States, "decideDue" | "decideWaiting" | "decideAll" | "untilNext">;
  outage: Pick<Outage, "failed" | "over" | "settled" | "allDecided">;
  log: Log;
  pause?: typeof pause;
};

/** Another process may set a time that is nearer than any known here. */
const longestPauseMs = 1_000;
/** Times that pass shortly after each other are found together. */
const shortestPauseMs = 20;
/** A clock that is slewed to correct it moves back by far less between two turns. */
const setBackMs = 2_000;

/**
 * Decides checks and heartbeats when their time has come, as long as the worker runs. It has no state of its own: every
 * worker can watch, and killing one loses nothing.
 */
export function watchStates(parts: WatchParts): { stop: () => Promise<void> } {
  return startBackground((signal) => watch(parts, signal));
}

async function watch(parts: WatchParts, signal: AbortSignal): Promise<void> {
  const { states, outage, log, pause: wait = pause } = parts;
  let knownAheadMs = Number.NEGATIVE_INFINITY;
  let lastFault: string | undefined;
  let waitingAtMs = Number.NEGATIVE_INFINITY;
  const turn = async () => {
    if (lastFault !== undefined) {
      // Throws while the database is away.
      await states.untilNext();
      await outage.over();
    }
    const decided = await states.decideDue();
    outage.settled();
    if (decided > 0) return 0;
    if (performance.now() - waitingAtMs > longestPauseMs) {
      waitingAtMs = performance.now();
      await states.decideWaiting();
    }
    const askedMs = performance.now();
    const { inMs, nowMs } = await states.untilNext();
    if (inMs === null || inMs > 0) outage.allDecided(nowMs);
    // At the least: the answer may have been long on its way.
    const backMs = Math.round(knownAheadMs - (nowMs - askedMs));
    if (backMs > setBackMs) {
      await states.decideAll();
      log.warn({ backMs }, "the clock of the database was set back: all checks are decided anew");
    }
    knownAheadMs = nowMs - performance.now();
    return Math.min(longestPauseMs, Math.max(shortestPauseMs, inMs ?? longestPauseMs));
  };
  while (!signal.aborted) {
    let pauseMs = longestPauseMs;
    try {
      pauseMs = await turn();
      lastFault = undefined;
    } catch (error) {
      const { message: detail } = error as Error;
      if (detail !== lastFault) log.warn({ detail }, "checks and heartbeats not decided");
      lastFault = detail;
      outage.failed();
    }
    if (pauseMs > 0) await wait(pauseMs, signal);
  }
}
