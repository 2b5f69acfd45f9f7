/**
 * Limits that all processes share. While Redis cannot be reached, the process limits by itself, from the
 * last counters that it knows, and reports the change of mode; when Redis is back, the counts of the
 * meantime are sent to it.
 */
import type { Limiter, LimitRequest, TakeAnswer } from "#api/limiter.ts";
import type { LocalLimiter } from "./local-limiter.ts";
import type { RedisCounters } from "./redis-counters.ts";
import { answerBatch } from "./window.ts";

/** `alone`: no other process counts what this process lets pass. */
export type Mode = "shared" | "alone";

export type SharedLimiterParts = {
  counters: RedisCounters;
  /** Counts in this process while Redis is away. */
  local: LocalLimiter;
  /** Each change of the mode, and why. */
  onMode: (mode: Mode, reason: string) => void;
};

/** While alone, the interval at which Redis is pinged. */
const probeEveryMs = 250;

/** A start waits so long for Redis. */
const startTimeoutMs = 1_500;

/** Resolves when Redis has answered, or when this process has started alone. */
export async function startSharedLimiter(parts: SharedLimiterParts): Promise<Limiter> {
  const { counters, local } = parts;
  const link = watchLink(parts);
  await link.firstKnown;
  return {
    take: (requests, nowMs) => {
      if (link.mode() === "alone") return local.take(requests, nowMs);
      return takeShared(counters, local, requests).catch((error: Error) => {
        link.lose(error);
        return local.take(requests, nowMs);
      });
    },
    close: async () => {
      link.close();
      await local.close();
    },
  };
}

async function takeShared(
  counters: RedisCounters,
  local: LocalLimiter,
  requests: readonly LimitRequest[],
): Promise<TakeAnswer> {
  const counted = await counters.take(requests, requests.map(local.peek));
  for (const [index, { cell }] of counted.entries()) {
    if (cell.current + cell.previous > 0) local.learn(requests[index] as LimitRequest, cell);
  }
  return answerBatch(
    requests,
    counted.map(({ usage }) => usage),
  );
}

/** Tracks whether Redis answers, and pings it while it does not. */
function watchLink({ counters, onMode }: Omit<SharedLimiterParts, "local">) {
  let mode: Mode | undefined;
  let isClosed = false;
  let lastFault = "no answer";
  const known = Promise.withResolvers<void>();
  const become = (next: Mode, reason: string) => {
    if (mode === next || isClosed) return;
    mode = next;
    known.resolve();
    onMode(next, reason);
  };
  const probe = () => {
    if (mode === "shared") return;
    counters.ping().then(
      () => become("shared", "Redis answers"),
      // The next ping follows.
      () => {},
    );
  };
  const timer = setInterval(probe, probeEveryMs).unref();
  const lose = (error: Error) => become("alone", error.message);
  counters.onReady(probe);
  counters.onLost((error) => {
    lastFault = error.message;
    // Before the first answer there is nothing to lose: the start's timeout applies.
    if (mode === "shared") lose(error);
  });
  const startTimer = setTimeout(() => {
    if (mode === undefined) become("alone", lastFault);
  }, startTimeoutMs);
  return {
    mode: () => mode,
    lose,
    firstKnown: known.promise.finally(() => clearTimeout(startTimer)),
    close: () => {
      isClosed = true;
      clearInterval(timer);
      counters.close();
    },
  };
}
