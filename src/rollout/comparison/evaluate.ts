/** Compares the sentinels on the new image with those on the old one at the same time. Pure; README.md has the idea. */
import type { History, Ledger, MetricEvidence, Verdict } from "./contract.ts";
import { decide } from "./decide.ts";
import {
  alpha,
  baseMinutes,
  beta,
  claims,
  type Metric,
  metrics,
  warmupMinutes,
} from "./defaults.ts";
import { logChoices } from "./draws.ts";
import { type Fleet, makeLooks, openWave, takeMembers, type Wave } from "./looks.ts";
import { createPast } from "./past.ts";
import { expectCounts, predictCounts, type Sample, takeSample } from "./sample.ts";
import { createStrata, findOneSided } from "./strata.ts";
import { findReporting, sumMinutes } from "./sums.ts";
import { sizeOfSpread } from "./weights.ts";

const minuteMs = 60_000;

const emptyLedger: Ledger = { total: 0, wave: 0, look: 0, guard: null, sums: null };

/**
 * Makes all looks that the ledger lacks, of each wave until the next one's first deploy, and decides. `now`: Unix ms; no
 * later minute, update or wave counts. All numbers of the answer are finite.
 */
export function evaluate(history: History, now: number): Verdict {
  const { first_minute: first, rollout, ledger = emptyLedger } = history;
  const current = rollout.waves.findLastIndex((wave) => isPast(wave.settled_at, now));
  const startIndex = Math.floor((rollout.started_at - first) / minuteMs);
  if (current < 0) return decideEarly(ledger, "no gated wave has settled yet");
  if (startIndex < baseMinutes) {
    const minutes = Math.max(0, startIndex);
    const need = `the comparison needs counts of the ${baseMinutes} minutes before the rollout`;
    return decideEarly(ledger, `${need}, and has those of ${minutes}`);
  }
  const fleet = readFleet(history, startIndex);
  let after = ledger;
  let wave: Wave | undefined;
  for (let index = ledger.wave; index <= current; index += 1) {
    const settledAt = rollout.waves[index]?.settled_at;
    if (!isPast(settledAt, now)) continue;
    wave = findWave(fleet, { index, settledAt, now });
    after = makeLooks(fleet, wave, after);
  }
  if (wave === undefined) return decideEarly(ledger, "the ledger is of a later wave");
  return answer(fleet, wave, after);
}

function isPast(at: number | null | undefined, now: number): at is number {
  return at !== null && at !== undefined && at <= now;
}

function decideEarly(ledger: Ledger, missing: string): Verdict {
  return decide({ ledger, metrics: [], missing });
}

function readFleet({ sentinels, first_minute, rollout }: History, startIndex: number): Fleet {
  const base = sumMinutes(sentinels, { from: startIndex - baseMinutes, to: startIndex });
  const indices = findReporting(base, base, { base: baseMinutes, window: baseMinutes });
  const strata = createStrata(sentinels, indices);
  return {
    ...strata,
    sentinels,
    base,
    indices,
    readPast: createPast(sentinels, { startIndex, ...strata }),
    firstMinute: first_minute,
    soakMinutes: rollout.soak_minutes,
    waves: rollout.waves.length,
  };
}

/** The wave with its soak: until the next wave's first deploy, now, or the last minute of which anything is known. */
function findWave(
  fleet: Fleet,
  { index, settledAt, now }: { index: number; settledAt: number; now: number },
): Wave {
  const toMinutes = (at: number) => (at - fleet.firstMinute) / minuteMs;
  const start = Math.ceil(toMinutes(settledAt)) + warmupMinutes;
  let next = now;
  let known = 0;
  for (const { updated_at, requests } of fleet.sentinels) {
    if (updated_at !== null && updated_at > settledAt) next = Math.min(next, updated_at);
    known = Math.max(known, requests.length);
  }
  const end = Math.max(start, Math.min(Math.floor(toMinutes(next)), known));
  const isNew = Uint8Array.from(fleet.sentinels, ({ updated_at }) =>
    isPast(updated_at, settledAt) ? 1 : 0,
  );
  return openWave(fleet, isNew, { index, start, end });
}

function answer(fleet: Fleet, wave: Wave, ledger: Ledger): Verdict {
  const { start, end, mode } = wave;
  const minutes = end - start;
  if (minutes === 0) {
    const at = new Date(fleet.firstMinute + start * minuteMs).toISOString();
    const missing = `no minute has been counted since the soak's start at ${at}`;
    return decide({ ledger, metrics: [], missing });
  }
  const window = sumMinutes(fleet.sentinels, { from: start, to: end });
  const { members, isNew } = takeMembers(fleet, wave, { window, minutes });
  const samples = metrics.map((metric) =>
    takeSample(metric, members, { base: fleet.base, window }),
  );
  const errors = samples[0] as Sample;
  const expected = expectCounts(errors, errors.count, (metrics[0] as Metric).tolerate);
  const needed = estimateNeeded(
    { count: errors.count, expected },
    { share: minutes / Math.max(1, fleet.soakMinutes), waves: fleet.waves },
  );
  const drawn = isNew.reduce((sum, mark) => sum + mark, 0);
  return decide({
    ledger,
    metrics: samples.map((sample, m) => describeMetric(sample, isNew, { m, ledger })),
    look: {
      minutes,
      mode,
      drawn,
      old: isNew.length - drawn,
      needed,
      oneSided: findOneSided(fleet.sentinels, members, wave.isNew),
    },
  });
}

function describeMetric(
  sample: Sample,
  isNew: Uint8Array,
  { m, ledger }: { m: number; ledger: Ledger },
): MetricEvidence {
  const count = (mark: number) => {
    const side = { count: 0, exposure: 0, rate: 0 };
    for (let i = 0; i < isNew.length; i += 1) {
      if (isNew[i] !== mark) continue;
      side.count += sample.count[i] as number;
      side.exposure += sample.exposure[i] as number;
    }
    return side.exposure > 0 ? { ...side, rate: side.count / side.exposure } : side;
  };
  return {
    metric: (metrics[m] as Metric).name,
    new: count(1),
    old: count(0),
    expected: predictCounts(sample, isNew, 0).reduce((sum, value) => sum + value, 0),
    worse: ledger.sums?.worse[m] ?? 0,
    not_worse: ledger.sums?.notWorse[m] ?? 0,
    better: ledger.sums?.better[m] ?? 0,
    proof: 1 / beta,
  };
}

/** In simulation fewer find a doubled error rate in some of the rollouts only, however many requests they have. */
const least = 20;

/**
 * Returns the number for the planned soak, or null if the fleet has too few sentinels or requests. `count` and `expected`
 * are the errors of the window, of all sentinels; `share` is how much of the planned soak the window covers.
 */
function estimateNeeded(
  { count, expected }: { count: Float64Array; expected: Float64Array },
  { share, waves }: { share: number; waves: number },
): number | null {
  const sentinels = count.length;
  const size = sizeOfSpread(count, expected);
  const mean = expected.reduce((sum, value) => sum + value, 0) / Math.max(1, sentinels) / share;
  const gain = gainOfDoubling(mean, size);
  const goal = Math.log((claims.worse.bets.length * metrics.length * waves) / alpha);
  if (!(gain > 0)) return null;
  let needed = Math.max(least, Math.ceil(goal / gain));
  while (needed < sentinels && logChoices(sentinels, needed) < goal) needed += 1;
  return needed < sentinels ? needed : null;
}

/** The log weight of a sentinel that counts twice what is expected, by the bet on that. */
function gainOfDoubling(expected: number, size: number): number {
  const limit = claims.worse.bets.find(({ times }) => times === 2)?.limit ?? 0;
  const x = 2 * expected;
  return Math.min(limit, x * Math.log(2) + (x + size) * Math.log((expected + size) / (x + size)));
}
