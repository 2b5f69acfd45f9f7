/** Computes the state at one moment of a rollout's past, and from moment to moment. Pure. */
import type { PastMark, RolloutPast } from "#console/contract.ts";
import type { CheckView } from "#monitor/results/contract.ts";

export type Past = Pick<RolloutPast, "last" | "lost"> & {
  fromMs: number;
  stepMs: number;
  initial: PastMark[];
  /** The changes rise by moment. */
  changes: { moment: number; mark: PastMark; indexes: number[] }[];
};

export function openPast(coded: RolloutPast): Past {
  let moment = 0;
  const changes = coded.changes.map(([after, mark, distances]) => {
    moment += after;
    let index = -1;
    const indexes = distances.map((distance) => {
      index += distance;
      return index;
    });
    return { moment, mark, indexes };
  });
  const initial = coded.initial.flatMap(([mark, size]) => Array<PastMark>(size).fill(mark));
  const { last, lost } = coded;
  return { last, lost, fromMs: Date.parse(coded.from), stepMs: coded.step_ms, initial, changes };
}

export function marksAt({ initial, changes }: Past, moment: number): PastMark[] {
  const marks = [...initial];
  for (const change of changes) {
    if (change.moment > moment) break;
    for (const index of change.indexes) marks[index] = change.mark;
  }
  return marks;
}

/** The layers of the picture from bottom to top: what a sentinel runs, or what became of it. */
export const layers = ["fresh", "stuck", "failed", "deploying", "reverted", "previous"] as const;
export type Layer = (typeof layers)[number];
export type LayerCounts = Record<Layer, number>;

const layerOf: Record<PastMark, Layer> = {
  s: "fresh",
  n: "stuck",
  f: "failed",
  p: "deploying",
  r: "reverted",
  w: "previous",
  l: "previous",
};

export type CountedMoment = { moment: number; counts: LayerCounts };

/** The counts at moment 0 and at each moment at which they change. */
export function countAlong({ initial, changes }: Past): CountedMoment[] {
  const marks = [...initial];
  const counts = { fresh: 0, stuck: 0, failed: 0, deploying: 0, reverted: 0, previous: 0 };
  for (const mark of marks) counts[layerOf[mark]] += 1;
  const along: CountedMoment[] = [{ moment: 0, counts: { ...counts } }];
  for (const { moment, mark, indexes } of changes) {
    for (const index of indexes) {
      counts[layerOf[marks[index] ?? "w"]] -= 1;
      counts[layerOf[mark]] += 1;
      marks[index] = mark;
    }
    if (along.at(-1)?.moment === moment) along.pop();
    along.push({ moment, counts: { ...counts } });
  }
  return along;
}

/** The counts of the last moment that is not after the given one. */
export function countsAt(along: readonly CountedMoment[], moment: number): LayerCounts {
  const found = along.findLast((one) => one.moment <= moment) ?? along[0];
  return (found as CountedMoment).counts;
}

const leastMarginMs = 5_000;

/** Beside a rollout of a few minutes: response times come by the minute. */
const minuteMs = 60_000;

/** The span of the slider and the charts: the rollout, and some time before and after it. */
export function spanOf({ last, stepMs }: Past): { first: number; end: number } {
  const lengthMs = last * stepMs;
  const short = Math.min(minuteMs, lengthMs / 2);
  const margin = Math.ceil(Math.max(leastMarginMs, short, lengthMs / 20) / stepMs);
  return { first: -margin, end: last + margin };
}

export function timeOf({ fromMs, stepMs }: Past, moment: number): number {
  return fromMs + moment * stepMs;
}

/** The moment of a time in ISO 8601; what is no time, or none at all, is the end of the rollout. */
export function momentOf(past: Past, iso: string | null): number {
  const atMs = Date.parse(iso ?? "");
  if (Number.isNaN(atMs)) return past.last;
  const { first, end } = spanOf(past);
  return Math.min(end, Math.max(first, Math.ceil((atMs - past.fromMs) / past.stepMs)));
}

type Event = { at: string };

/** The moments of events, rising, each once. */
export function momentsOf(past: Past, events: readonly Event[]): number[] {
  const moments = events.map(({ at }) => momentOf(past, at));
  return [...new Set(moments)].sort((a, b) => a - b);
}

export function lastEvent<One extends Event>(
  past: Past,
  events: readonly One[],
  moment: number,
): One | undefined {
  const passed = events.filter(({ at }) => momentOf(past, at) <= moment);
  return passed.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))[0];
}

/** Each layer's outline in 1000 by 100: the span wide, all sentinels high. A count stays until the next one. */
export function outline(
  past: Past,
  along: readonly CountedMoment[],
): { layer: Layer; path: string }[] {
  const { first, end } = spanOf(past);
  const total = past.initial.length;
  const x = (moment: number) => round(((moment - first) * 1_000) / (end - first));
  const y = (sum: number) => round(100 - (sum * 100) / total);
  const starts = along.map(({ moment }, i) => (i === 0 ? 0 : x(moment)));
  const ends = [...starts.slice(1), 1_000];
  const below = along.map(() => 0);
  return layers.flatMap((layer) => {
    const bottoms = [...below];
    for (const [i, { counts }] of along.entries()) below[i] = (below[i] ?? 0) + counts[layer];
    if (below.every((sum, i) => sum === bottoms[i])) return [];
    const edge = (sums: readonly number[], i: number) =>
      [`${starts[i]} ${y(sums[i] ?? 0)}`, `${ends[i]} ${y(sums[i] ?? 0)}`] as const;
    const top = along.flatMap((_, i) => edge(below, i));
    const bottom = along.flatMap((_, i) => edge(bottoms, i)).reverse();
    return [{ layer, path: `M${[...top, ...bottom].join("L")}Z` }];
  });
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** API checks: first those of the gate, in its order, then the others that have run, then the rest. */
export function orderChecks(checks: readonly CheckView[], gate: readonly string[]): CheckView[] {
  const rank = ({ id, last_at }: CheckView) => {
    const place = gate.indexOf(id);
    if (place !== -1) return place;
    return last_at === null ? gate.length + 1 : gate.length;
  };
  const api = checks.filter(({ rule }) => rule.kind === "api");
  return api.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}
