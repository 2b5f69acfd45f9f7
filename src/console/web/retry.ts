/** Tries again what was not answered: after a pause that grows, and at once when an answer has become likely. */
import { connection } from "./live.ts";

const firstMs = 1_000;
const mostMs = 30_000;

/** The pause after so many failures in a row, from 1 on. Pure. */
export function pauseMs(failures: number): number {
  return Math.min(mostMs, firstMs * 2 ** (failures - 1));
}

/** Calls back when online again, looked at again, or live again. Returns a function that stops this. */
export function onRevival(callback: () => void): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const look = () => {
    if (document.visibilityState === "visible") callback();
  };
  addEventListener("online", callback, { signal });
  document.addEventListener("visibilitychange", look, { signal });
  let wasLost = false;
  const forget = connection.subscribe((state) => {
    if (state === "live" && wasLost) callback();
    wasLost = state === "lost" || (wasLost && state !== "live");
  });
  return () => {
    ended.abort();
    forget();
  };
}

/** Tries until it succeeds, or until the returned function is called. */
export function tryUntilDone(attempt: () => Promise<unknown>): () => void {
  let failures = 0;
  let isBusy = false;
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    isOver = true;
    clearTimeout(timer);
    forget();
  };
  const go = () => {
    if (isBusy) return;
    isBusy = true;
    clearTimeout(timer);
    attempt()
      .then(stop, () => {
        failures += 1;
        if (isOver) return;
        timer = setTimeout(go, pauseMs(failures));
      })
      .finally(() => {
        isBusy = false;
      });
  };
  const forget = onRevival(go);
  go();
  return stop;
}
