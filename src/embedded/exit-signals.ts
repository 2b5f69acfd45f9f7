/**
 * Signals to servers that are still running when the program exits without having stopped them: at the
 * second signal, or after an error of its own. The servers then shut down by themselves.
 */
const signals = new Set<() => void>();

process.on("exit", () => {
  for (const signal of signals) signal();
});

/** Calls `signal`, without waiting, when the program exits before the returned function was called. */
export function signalAtExit(signal: () => void): () => void {
  signals.add(signal);
  return () => signals.delete(signal);
}
