/** A terminal and npm, or `timeout`, each pass on the same signal: so close together they are one. */
const sameSignalMs = 1_000;

/**
 * Resolves at SIGTERM or SIGINT. A second signal ends the program at once: someone is in a hurry,
 * and nothing is lost by it. Its servers end by themselves then; local sentinels serve on.
 */
export function stopAsked(): Promise<void> {
  return new Promise((resolve) => {
    let askedAt: number | undefined;
    const ask = () => {
      if (askedAt !== undefined && performance.now() - askedAt > sameSignalMs) process.exit(1);
      askedAt ??= performance.now();
      resolve();
    };
    process.on("SIGTERM", ask);
    process.on("SIGINT", ask);
  });
}
