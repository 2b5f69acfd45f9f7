/** Lets all who ask while work is under way share it: the next who asks after its end begins it anew, also after a failure. */
export function onceAtATime<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  return () => {
    current ??= work().finally(() => {
      current = undefined;
    });
    return current;
  };
}
