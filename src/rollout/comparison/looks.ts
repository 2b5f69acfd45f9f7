/** The looks of one wave that the ledger does not have yet, and the guard of each minute. Pure. */
import type { Claim, ComparedSentinel, Ledger } from "./contract.ts";
import { baseMinutes, claimNames, guard, type Metric, metrics } from "./defaults.ts";
import { createDraw, weighEvidence } from "./evidence.ts";
import type { ReadPast } from "./past.ts";
import { predictCounts, type Sample, takeSample } from "./sample.ts";
import { chooseMode, type Strata } from "./strata.ts";
import { addMinutes, findReporting, type Sums, sumMinutes } from "./sums.ts";

/** The facts that are the same for all waves of a rollout. */
export type Fleet = Strata & {
  sentinels: readonly ComparedSentinel[];
  base: Sums;
  /** Those that reported at least half of the base. */
  indices: Int32Array;
  readPast: ReadPast;
  firstMinute: number;
  soakMinutes: number;
  waves: number;
};

/** One wave; `isNew` is of all sentinels. Its soak are the minutes from `start` until `end`, indices of the arrays. */
export type Wave = {
  index: number;
  isNew: Uint8Array;
  mode: "exact" | "history";
  start: number;
  end: number;
};

export function openWave(
  fleet: Fleet,
  isNew: Uint8Array,
  { index, start, end }: Pick<Wave, "index" | "start" | "end">,
): Wave {
  return { index, isNew, mode: chooseMode(fleet, fleet.indices, isNew), start, end };
}

/** Makes the looks that are left until the wave's end. Returns the ledger after them. */
export function makeLooks(fleet: Fleet, wave: Wave, before: Ledger): Ledger {
  let ledger = before.wave === wave.index ? before : enterWave(before, wave.index);
  const last = wave.end - wave.start;
  if (last <= ledger.look) return ledger;
  const window = sumMinutes(fleet.sentinels, { from: wave.start, to: wave.start + ledger.look });
  for (let minute = ledger.look + 1; minute <= last; minute += 1) {
    const to = wave.start + minute;
    addMinutes(window, fleet.sentinels, { from: to - 1, to });
    if (minute === nextLook(ledger.look)) ledger = look({ fleet, wave, window }, ledger, minute);
    if (ledger.guard === null && minute >= guard.from && findsGrossFailure(fleet, wave, minute))
      ledger = { ...ledger, guard: fleet.firstMinute + to * 60_000 };
  }
  return ledger;
}

const enterWave = (ledger: Ledger, wave: number): Ledger => ({
  ...ledger,
  wave,
  look: 0,
  sums: null,
});

/** The sentinels that count in a window of the wave so many minutes long, and which of them are new. */
export function takeMembers(
  fleet: Fleet,
  wave: Wave,
  { window, minutes }: { window: Sums; minutes: number },
) {
  const indices = findReporting(fleet.base, window, { base: baseMinutes, window: minutes });
  return {
    members: { stratum: fleet.stratum, strata: fleet.strata, indices },
    isNew: Uint8Array.from(indices, (i) => wave.isNew[i] as number),
  };
}

function look(
  { fleet, wave, window }: { fleet: Fleet; wave: Wave; window: Sums },
  ledger: Ledger,
  minute: number,
): Ledger {
  const { members, isNew } = takeMembers(fleet, wave, { window, minutes: minute });
  const samples = metrics.map((metric) =>
    takeSample(metric, members, { base: fleet.base, window }),
  );
  const draw = createDraw(samples[0] as Sample, isNew);
  const weight = weightOfLook(minute, ledger.look, fleet.soakMinutes);
  const weigh = (metric: Metric, m: number, claim: Claim) => {
    const past = wave.mode === "history" ? { past: fleet.readPast(minute, metric, claim) } : {};
    const sample = samples[m] as Sample;
    return weight * weighEvidence(sample, draw, { metric, claim, ...past });
  };
  const found = Object.fromEntries(
    claimNames.map((claim) => [claim, metrics.map((metric, m) => weigh(metric, m, claim))]),
  ) as Record<Claim, number[]>;
  // All metrics of all waves share alpha.
  const worse = found.worse.map((value) => value / metrics.length / fleet.waves);
  const total = worse.reduce((sum, value) => sum + value, ledger.total);
  return { ...ledger, total, look: minute, sums: addSums(ledger.sums, { ...found, worse }) };
}

function addSums(before: Ledger["sums"], added: Record<Claim, number[]>): Record<Claim, number[]> {
  const add = (claim: Claim) => added[claim].map((value, m) => value + (before?.[claim][m] ?? 0));
  return { worse: add("worse"), notWorse: add("notWorse"), better: add("better") };
}

function findsGrossFailure(fleet: Fleet, wave: Wave, minute: number): boolean {
  const minutes = Math.min(guard.minutes, minute);
  const to = wave.start + minute;
  const window = sumMinutes(fleet.sentinels, { from: to - minutes, to });
  const { members, isNew } = takeMembers(fleet, wave, { window, minutes });
  const errors = takeSample(metrics[0] as Metric, members, { base: fleet.base, window });
  return isGrossFailure(errors, isNew);
}

/** True if the new sentinels fail grossly, together and at least half of them alone. `errors`: of the last minutes. */
function isGrossFailure(errors: Sample, isNew: Uint8Array): boolean {
  if (isNew.every((mark) => mark === 1)) return false;
  const predicted = predictCounts(errors, isNew, guard.leastRate);
  const all = { requests: 0, errors: 0, predicted: 0 };
  let [busy, failing] = [0, 0];
  for (let i = 0; i < isNew.length; i += 1) {
    if (isNew[i] !== 1) continue;
    const own = {
      requests: errors.exposure[i] as number,
      errors: errors.count[i] as number,
      predicted: predicted[i] as number,
    };
    all.requests += own.requests;
    all.errors += own.errors;
    all.predicted += own.predicted;
    if (own.requests < guard.leastRequestsOfOne) continue;
    busy += 1;
    if (fails(own)) failing += 1;
  }
  return all.requests >= guard.leastRequests && fails(all) && busy > 0 && 2 * failing >= busy;
}

function fails(side: { requests: number; errors: number; predicted: number }): boolean {
  const { requests, errors, predicted } = side;
  return errors >= guard.rate * requests && errors >= guard.timesPredicted * predicted;
}

/** Each of the first minutes, then whenever a tenth more of the soak has passed. `look`: 0 before the first. */
export function nextLook(look: number): number {
  return look < 10 ? look + 1 : Math.ceil((look * 11) / 10);
}

/**
 * The share of a wave's evidence that a look at this minute has, all of which sum to at most 1 however long the soak
 * lasts. `previous` is the look before: one that was missed leaves its share to the next.
 */
export function weightOfLook(look: number, previous: number, soakMinutes: number): number {
  return spentUntil(look, soakMinutes) - spentUntil(previous, soakMinutes);
}

/** A tenth is for minutes after the planned soak. */
function spentUntil(minute: number, soakMinutes: number): number {
  const planned = Math.max(1, soakMinutes);
  if (minute <= planned) return (0.9 * Math.log1p(minute)) / Math.log1p(planned);
  return 0.9 + 0.1 * (1 - 1 / (1 + Math.log(minute / planned)));
}
