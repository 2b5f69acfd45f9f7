import type { RolloutStatus } from "#rollout/contract.ts";
import type { Counts } from "./counts.ts";

type Sample = { atMs: number; done: number };

/** The window of the rate: a shorter one would jump with every batch, a longer one would lag behind. */
const windowMs = 20_000;

/** Counts the results per second of the rollout, or of its rollback. */
export function createThroughput() {
  let subject = "";
  let samples: Sample[] = [];
  return {
    perSecond(
      { rollout_id, state }: Pick<RolloutStatus, "rollout_id" | "state">,
      counts: Counts,
      nowMs: number,
    ): number {
      if (state !== "in_progress" && state !== "rolling_back") {
        samples = [];
        return 0;
      }
      if (subject !== `${rollout_id} ${state}`) samples = [];
      subject = `${rollout_id} ${state}`;
      const done = state === "in_progress" ? counts.done : counts.reverted + counts.not_reverted;
      samples = [...samples, { atMs: nowMs, done }].filter(({ atMs }) => nowMs - atMs <= windowMs);
      return rateOf(samples);
    },
  };
}

function rateOf(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.atMs === first.atMs) return 0;
  const perSecond = ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
  return Math.max(0, Math.round(perSecond * 10) / 10);
}
