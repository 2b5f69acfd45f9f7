/**
 * Restate retries a failed call until it succeeds or is cancelled. Without this policy a server with other
 * settings pauses it after 70 attempts, and it stays paused even when the cause of the failure is gone.
 */
export const untilDone = {
  initialInterval: 50,
  exponentiationFactor: 2,
  maxInterval: 2_000,
  maxAttempts: 1_000_000_000,
};
