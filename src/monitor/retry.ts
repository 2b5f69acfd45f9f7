import { untilDone } from "#kernel/restate.ts";

/** The monitor retries without a limit. The longer backoff is for thousands of checks that retry at once. */
export const forEver = { ...untilDone, initialInterval: 200, maxInterval: 15_000 };
