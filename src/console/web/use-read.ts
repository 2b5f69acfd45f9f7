import { useEffect, useState } from "preact/hooks";
import { type Reads, read } from "./api.ts";

export type Loaded<Data> = {
  data: Data | undefined;
  /** Why the newest could not be had; `data` is then the last that could. */
  error: string | undefined;
  reload: () => void;
};

/** Reads when shown, when the question changes, and every so often while the page is in view. */
export function useRead<Name extends keyof Reads>(
  name: Name,
  body: Reads[Name]["input"],
  everyMs?: number,
): Loaded<Reads[Name]["output"]> {
  const [data, setData] = useState<Reads[Name]["output"]>();
  const [error, setError] = useState<string>();
  const [count, setCount] = useState(0);
  const question = JSON.stringify(body);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `question` stands for `body`
  useEffect(() => {
    let isCurrent = true;
    const load = async () => {
      try {
        const answer = await read(name, body);
        if (!isCurrent) return;
        setData(answer);
        setError(undefined);
      } catch (problem) {
        if (isCurrent) setError((problem as Error).message);
      }
    };
    void load();
    const timer =
      everyMs === undefined
        ? undefined
        : setInterval(() => {
            if (document.visibilityState === "visible") void load();
          }, everyMs);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [name, question, everyMs, count]);

  return { data, error, reload: () => setCount((n) => n + 1) };
}
