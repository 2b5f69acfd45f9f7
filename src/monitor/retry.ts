/** Nothing of the monitor is given up: Restate's own default pauses after about an hour. */
export const forEver = {
  initialInterval: 200,
  exponentiationFactor: 2,
  maxInterval: 15_000,
  maxAttempts: 1_000_000,
};
