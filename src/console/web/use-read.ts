import { useEffect, useState } from "preact/hooks";
import { type Reads, read } from "./api.ts";
import { chosenFleet } from "./chosen-fleet.ts";

export type ReadState<Data> = {
  /** The newest answer to the current request. */
  data: Data | undefined;
  /** The newest answer, maybe to an earlier request: for data that is the same in all answers. */
  latest: Data | undefined;
  /** Why the last read failed; `data` is then from the last successful one. */
  error: string | undefined;
  reload: () => void;
};

/** Reads when shown, when the request changes, and every `everyMs` while the page is visible. */
export function useRead<Name extends keyof Reads>(
  name: Name,
  body: Reads[Name]["input"],
  everyMs?: number,
): ReadState<Reads[Name]["output"]> {
  const [answered, setAnswered] = useState<{ to: string; answer: Reads[Name]["output"] }>();
  const [failed, setFailed] = useState<{ to: string; error: string }>();
  const [count, setCount] = useState(0);
  const question = JSON.stringify([chosenFleet.value, body]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `question` stands for `body` and the fleet
  useEffect(() => {
    let asked = 0;
    let shown = 0;
    /** False after the request has changed, or when the answer to a later read is shown already. */
    const isNews = (turn: number) => {
      if (turn < shown) return false;
      shown = turn;
      return true;
    };
    const load = async () => {
      asked += 1;
      const turn = asked;
      try {
        const answer = await read(name, body);
        if (!isNews(turn)) return;
        setAnswered({ to: question, answer });
        setFailed(undefined);
      } catch (problem) {
        if (isNews(turn)) setFailed({ to: question, error: (problem as Error).message });
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
      shown = Number.POSITIVE_INFINITY;
      clearInterval(timer);
    };
  }, [name, question, everyMs, count]);

  return {
    data: answered?.to === question ? answered.answer : undefined,
    latest: answered?.answer,
    error: failed?.to === question ? failed.error : undefined,
    reload: () => setCount((n) => n + 1),
  };
}
