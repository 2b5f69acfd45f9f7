import { untilDone } from "#kernel/restate.ts";

/** The monitor retries without a limit. The longer backoff is for thousands of checks that retry at once. */
export const forEver = { ...untilDone, initialInterval: 200, maxInterval: 15_000 };

/** Ms. Restate stores each idempotency key, by default for a day: too long for calls of every minute. */
export const soonForgotten = 600_000;
