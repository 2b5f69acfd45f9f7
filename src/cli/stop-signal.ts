/** A terminal and npm, or `timeout`, both forward the same signal: two within this time count as one. */
const sameSignalMs = 1_000;

/**
 * Resolves at SIGTERM or SIGINT. A second signal exits the process at once; no data is lost by that. Its
 * child servers then end by themselves; local sentinels continue to serve.
 */
export function untilStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined;
    const onSignal = () => {
      if (firstAtMs !== undefined && performance.now() - firstAtMs > sameSignalMs) process.exit(1);
      firstAtMs ??= performance.now();
      resolve();
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}
