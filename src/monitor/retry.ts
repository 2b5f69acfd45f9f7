import { untilDone } from "#kernel/retry-policy.ts";

/** Nothing of the monitor is given up, and what there are thousands of is not tried every moment. */
export const forEver = { ...untilDone, initialInterval: 200, maxInterval: 15_000 };

/** Ms. Every call from outside leaves a trace in Restate, by default for a day: too long for what comes by the minute. */
export const soonForgotten = 600_000;
