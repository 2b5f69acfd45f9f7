import { useEffect, useState } from "preact/hooks";
import { isUnanswered, type Reads, read, statusOf } from "./api.ts";
import { chosenFleet } from "./chosen-fleet.ts";
import { onRevival, pauseMs } from "./retry.ts";

export type ReadState<Data> = {
  /** The newest answer to the current request. */
  data: Data | undefined;
  /** The newest answer, maybe to an earlier request: for data that is the same in all answers. */
  latest: Data | undefined;
  /** Why the last read failed; `data` is then from the last successful one. */
  error: string | undefined;
  /** The server knows nothing of what was asked for. */
  isMissing: boolean;
  reload: () => void;
};

type Failure = { to: string; error: string; isMissing: boolean };

/** Reads when shown, when the request changes, and every `everyMs` while visible; repeats what was not answered. */
export function useRead<Name extends keyof Reads>(
  name: Name,
  body: Reads[Name]["input"],
  everyMs?: number,
): ReadState<Reads[Name]["output"]> {
  const [answered, setAnswered] = useState<{ to: string; answer: Reads[Name]["output"] }>();
  const [failed, setFailed] = useState<Failure>();
  const [count, setCount] = useState(0);
  const question = JSON.stringify([chosenFleet.value, body]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `question` stands for `body` and the fleet
  useEffect(() => {
    const polled = everyMs === undefined ? undefined : {};
    return keepReading({
      ask: () => read(name, body, polled),
      take: (answer) => {
        setAnswered({ to: question, answer });
        setFailed(undefined);
      },
      fail: (problem) => setFailed({ to: question, ...wordsOf(problem) }),
      everyMs,
    });
  }, [name, question, everyMs, count]);

  const failure = failed?.to === question ? failed : undefined;
  return {
    data: answered?.to === question ? answered.answer : undefined,
    latest: answered?.answer,
    error: failure?.error,
    isMissing: failure?.isMissing ?? false,
    reload: () => setCount((n) => n + 1),
  };
}

/** 400: what is asked for could not even exist. */
function wordsOf(problem: unknown): Omit<Failure, "to"> {
  const { message } = problem as Error;
  const status = statusOf(problem);
  return {
    error: isUnanswered(problem)
      ? `${message.replace(/\.$/, "")}. It is tried again by itself.`
      : message,
    isMissing: status === 404 || status === 400,
  };
}

type ReadLoop<Answer> = {
  ask: () => Promise<Answer>;
  take: (answer: Answer) => void;
  fail: (problem: unknown) => void;
  everyMs: number | undefined;
};

function keepReading<Answer>({ ask, take, fail, everyMs }: ReadLoop<Answer>): () => void {
  let asked = 0;
  let shown = 0;
  let failures = 0;
  let retrying: ReturnType<typeof setTimeout> | undefined;
  /** False after the end, or when the answer to a later read is shown already. */
  const isNews = (turn: number) => {
    if (turn < shown) return false;
    shown = turn;
    clearTimeout(retrying);
    return true;
  };
  const load = async () => {
    asked += 1;
    const turn = asked;
    try {
      const answer = await ask();
      if (!isNews(turn)) return;
      failures = 0;
      take(answer);
    } catch (problem) {
      if (!isNews(turn)) return;
      fail(problem);
      if (!isUnanswered(problem)) return;
      failures += 1;
      retrying = setTimeout(loadIfSeen, pauseMs(failures));
    }
  };
  const loadIfSeen = () => {
    if (document.visibilityState === "visible") void load();
  };
  const timer = everyMs === undefined ? undefined : setInterval(loadIfSeen, everyMs);
  const forget = onRevival(() => {
    if (failures > 0 || everyMs !== undefined) void load();
  });
  void load();
  return () => {
    shown = Number.POSITIVE_INFINITY;
    clearInterval(timer);
    clearTimeout(retrying);
    forget();
  };
}
