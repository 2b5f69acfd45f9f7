/** Loads a part of the page when it is first shown, not with the first page, and tries again by itself. */
import { useEffect, useState } from "preact/hooks";
import { connection } from "./live.ts";
import { tryUntilDone } from "./retry.ts";

/** Then the server may be of another version, or the browser remembers a missing file: a reload helps in both cases. */
const mostFailures = 3;

export type Loading<T> = {
  loaded?: T;
  /** True after a failure, until the part is loaded. */
  isRetrying: boolean;
  /** True if it failed repeatedly although the server answers. */
  isOutdated: boolean;
};

/** Loads it for each component that uses it; the browser asks for the file once. `load` has to be the same function each time. */
export function useLoaded<T>(load: () => Promise<T>): Loading<T> {
  const [state, setState] = useState<{ loaded?: T; failures: number; failuresLive: number }>({
    failures: 0,
    failuresLive: 0,
  });
  useEffect(() => {
    const attempt = () =>
      load().then(
        (loaded) => setState((before) => ({ ...before, loaded })),
        (problem: unknown) => {
          const live = connection.peek() === "live" ? 1 : 0;
          setState((before) => ({
            failures: before.failures + 1,
            failuresLive: before.failuresLive + live,
          }));
          throw problem;
        },
      );
    return tryUntilDone(attempt);
  }, [load]);
  const { loaded, failures, failuresLive } = state;
  return {
    ...(loaded !== undefined && { loaded }),
    isRetrying: loaded === undefined && failures > 0,
    isOutdated: loaded === undefined && failuresLive >= mostFailures,
  };
}

/** Says that a part cannot be loaded, and offers the reload that helps. */
export function Outdated({ what }: { what: string }) {
  return (
    <div class="chart waiting" role="status">
      <p>{what} cannot be loaded: this page may be of an earlier version.</p>
      <button type="button" onClick={() => location.reload()}>
        Reload the page
      </button>
    </div>
  );
}
