/**
 * How Restate tries a call again that failed: until it works or is cancelled. Without this a server with
 * settings of its own parks it after 70 attempts, where it stays when what failed is well again.
 */
export const untilDone = {
  initialInterval: 50,
  exponentiationFactor: 2,
  maxInterval: 2_000,
  maxAttempts: 1_000_000_000,
};
