import type { RolloutDetail } from "#rollout/history/contract.ts";

type Sample = { atMs: number; done: number };

/** The window of the rate: a shorter one would jump with every batch, a longer one would lag behind. */
const windowMs = 20_000;

/** Counts the results per second of the rollout, or of its rollback. */
export function createThroughput() {
  let subject = "";
  let samples: Sample[] = [];
  return {
    perSecond(detail: RolloutDetail, nowMs: number): number {
      const { rollout_id, state } = detail.status;
      if (state !== "in_progress" && state !== "rolling_back") {
        samples = [];
        return 0;
      }
      if (subject !== `${rollout_id} ${state}`) samples = [];
      subject = `${rollout_id} ${state}`;
      samples = [...samples, { atMs: nowMs, done: countDone(detail) }].filter(
        ({ atMs }) => nowMs - atMs <= windowMs,
      );
      return rateOf(samples);
    },
  };
}

function countDone({ status, waves }: RolloutDetail): number {
  if (status.state === "in_progress") return status.succeeded + status.failed;
  return waves.reduce((sum, wave) => sum + wave.reverted + wave.not_reverted, 0);
}

function rateOf(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.atMs === first.atMs) return 0;
  const perSecond = ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
  return Math.max(0, Math.round(perSecond * 10) / 10);
}
