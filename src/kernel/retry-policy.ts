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

/**
 * Of a handler that only reads. Restate stores each answer for a day, since it gives calls without an idempotency key
 * one of its own: what whoever may read can call without end, and pages do call each second, would fill the disk.
 */
export const unkept = { journalRetention: 0, idempotencyRetention: 0 };
