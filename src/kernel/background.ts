/** Begins work that goes on until it is stopped: then its signal is aborted, and `stop` waits for its end. */
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
