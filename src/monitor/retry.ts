/** Nothing of the monitor is given up: Restate's own default pauses after about an hour. */
export const forEver = {
  initialInterval: 200,
  exponentiationFactor: 2,
  maxInterval: 15_000,
  maxAttempts: 1_000_000,
};

/** Ms. Every call from outside leaves a trace in Restate, by default for a day: too long for what comes by the minute. */
export const soonForgotten = 600_000;
