/** The backoff before the next attempt to deliver a message. */
import { backoffMs } from "#kernel/backoff.ts";

const backoff = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** The upper bound for a Retry-After. */
const maxRetryAfterMs = 60 * 60_000;

/**
 * The backoff after failed attempt number `attempt` (from 0): 1 s, 2 s, 4 s … 5 min, or the Retry-After
 * if that is longer. A service that always asks for an immediate retry would else be called all day.
 */
export function waitBeforeMs(attempt: number, retryAfterMs = 0): number {
  const ownMs = backoffMs(attempt, backoff);
  return Math.max(ownMs, Math.min(retryAfterMs, maxRetryAfterMs));
}
