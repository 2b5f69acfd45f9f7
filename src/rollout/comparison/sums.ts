/** Sums of what sentinels reported in ranges of minutes. Pure. */
import type { Readings } from "./contract.ts";
import type { Metric } from "./defaults.ts";

const kinds = ["minutes", "requests", "errors", "slow", "restarts"] as const;

/** By sentinel. `minutes`: how many were reported. */
export type Sums = Record<(typeof kinds)[number], Float64Array>;

/** A range of indices of minutes, without its end. */
export type Range = { from: number; to: number };

function createSums(size: number): Sums {
  const empty = () => new Float64Array(size);
  return {
    minutes: empty(),
    requests: empty(),
    errors: empty(),
    slow: empty(),
    restarts: empty(),
  };
}

/** An increment above this is no count: it is left out with its minute, like one that is negative or not there. */
const greatest = 1e12;

const isCount = (value: number | undefined) =>
  value !== undefined && value >= 0 && value <= greatest;

function isReported({ requests, errors, slow, restarts }: Readings, minute: number): boolean {
  return (
    isCount(requests[minute]) &&
    isCount(errors[minute]) &&
    isCount(slow[minute]) &&
    isCount(restarts[minute])
  );
}

/** Adds the minutes of the range to the sums. */
export function addMinutes(sums: Sums, sentinels: readonly Readings[], { from, to }: Range): void {
  for (const [i, one] of sentinels.entries()) {
    for (let minute = Math.max(0, from); minute < to; minute += 1) {
      if (!isReported(one, minute)) continue;
      sums.minutes[i] = (sums.minutes[i] as number) + 1;
      sums.requests[i] = (sums.requests[i] as number) + (one.requests[minute] as number);
      sums.errors[i] = (sums.errors[i] as number) + (one.errors[minute] as number);
      sums.slow[i] = (sums.slow[i] as number) + (one.slow[minute] as number);
      sums.restarts[i] = (sums.restarts[i] as number) + (one.restarts[minute] as number);
    }
  }
}

export function sumMinutes(sentinels: readonly Readings[], range: Range): Sums {
  const sums = createSums(sentinels.length);
  addMinutes(sums, sentinels, range);
  return sums;
}

/** Sums over many ranges inside of `all`, which may overlap: each minute is read once. */
export function sumRanges(
  sentinels: readonly Readings[],
  all: Range,
  ranges: readonly Range[],
): Sums[] {
  const sums = ranges.map(() => createSums(sentinels.length));
  for (const [i, one] of sentinels.entries()) {
    const until = sumUntil(one, all);
    for (const [r, { from, to }] of ranges.entries()) {
      for (const kind of kinds) {
        const values = until[kind];
        const added = (values[to - all.from] as number) - (values[from - all.from] as number);
        (sums[r] as Sums)[kind][i] = Math.max(0, added);
      }
    }
  }
  return sums;
}

/** The sums of a sentinel from the range's start until each of its minutes; the first entry is 0. */
function sumUntil(one: Readings, { from, to }: Range): Sums {
  const until = createSums(to - from + 1);
  for (let at = 0; at < to - from; at += 1) {
    const isThere = isReported(one, from + at);
    for (const kind of kinds) {
      const value = kind === "minutes" ? 1 : (one[kind][from + at] as number);
      until[kind][at + 1] = (until[kind][at] as number) + (isThere ? value : 0);
    }
  }
  return until;
}

/** The sums that a metric counts, and those that it counts them by. */
export function seriesOf(
  { name }: Metric,
  sums: Sums,
): { count: Float64Array; exposure: Float64Array } {
  return { count: sums[name], exposure: name === "restarts" ? sums.minutes : sums.requests };
}

/** Indices of the sentinels that reported at least half of both. */
export function findReporting(
  base: Sums,
  window: Sums,
  minutes: { base: number; window: number },
): Int32Array {
  const found: number[] = [];
  for (let i = 0; i < base.minutes.length; i += 1) {
    const isThere =
      2 * (base.minutes[i] as number) >= minutes.base &&
      2 * (window.minutes[i] as number) >= minutes.window;
    if (isThere) found.push(i);
  }
  return Int32Array.from(found);
}
