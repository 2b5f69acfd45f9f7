/** Starts work that runs until `stop` is called, which aborts its signal and waits for its end. */
export function startBackground(work: (signal: AbortSignal) => Promise<void>): {
  stop: () => Promise<void>;
} {
  const stopping = new AbortController();
  const ended = work(stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}
