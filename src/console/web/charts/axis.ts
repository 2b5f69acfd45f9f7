/** The labels of axes: whole numbers for counts, one unit for all durations, and times by the browser's locale. Pure. */
import { count, duration, ms } from "#console/web/format.ts";
import { browserTimes, type Times } from "#console/web/times.ts";

/** The properties that the lines of a chart have in common. */
export type Unit = {
  words: (value: number) => string;
  /** The possible distances between two labels of the axis. */
  steps: readonly number[];
  /** The labels of an axis, of which each is one of `steps` after the one before. */
  labels: (values: readonly number[]) => string[];
};

/** 1, 2, 5, 10 and so on, in `unit`. */
function stepsFrom(unit: number): number[] {
  return Array.from({ length: 12 }, (_, power) =>
    [1, 2, 5].map((n) => n * unit * 10 ** power),
  ).flat();
}

export const counts: Unit = {
  words: count,
  steps: stepsFrom(1),
  labels: (values) => values.map(count),
};

const secondMs = 1_000;

/** Durations are in seconds as soon as the highest label has some of them. */
export const durations: Unit = {
  words: ms,
  steps: [0.1, 0.2, 0.5, ...stepsFrom(1)],
  labels: (values) => {
    const isSeconds = (values.at(-1) ?? 0) >= 2 * secondMs;
    const number = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
    return values.map((value) =>
      isSeconds ? `${number.format(value / secondMs)} s` : `${number.format(value)} ms`,
    );
  },
};

const [minute, hour, day] = [60, 3_600, 86_400];

/** The unit of seconds since a start. */
export const elapsed: Unit = {
  words: duration,
  steps: [
    ...[1, 2, 5, 10, 15, 30],
    ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
    ...[1, 2, 3, 6, 12].map((n) => n * hour),
    ...stepsFrom(day),
  ],
  labels: (values) => values.map(duration),
};

/** Labels of Unix seconds: the clock, with the day at the first of each; for steps of days the day, with the year. */
export function timeLabels(
  seconds: readonly number[],
  step: number,
  times: Pick<Times, "clock" | "clockWithSeconds" | "day" | "year"> = browserTimes,
): string[] {
  const { clock, clockWithSeconds, day: dayOf, year } = times;
  const [fine, coarse] =
    step >= day ? [dayOf, year] : [step < minute ? clockWithSeconds : clock, dayOf];
  return seconds.map((at, i) => {
    const before = seconds[i - 1];
    const isFirst = before === undefined || coarse(before * 1_000) !== coarse(at * 1_000);
    return isFirst ? `${fine(at * 1_000)}\n${coarse(at * 1_000)}` : fine(at * 1_000);
  });
}

/** The start of every bucket that a span touches, in Unix seconds. */
export function bucketsOf(span: { from: number; to: number }, seconds: number): number[] {
  const first = Math.floor(span.from / seconds) * seconds;
  const count = Math.floor((span.to - first) / seconds) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, n) => first + n * seconds);
}

export function alongBuckets<Point>(
  buckets: readonly number[],
  points: readonly { at: string; point: Point }[],
  of: { value: (point: Point) => number | null; absent: number | null },
): (number | null)[] {
  const known = new Map(points.map(({ at, point }) => [Date.parse(at) / 1_000, point]));
  return buckets.map((bucket) => {
    const point = known.get(bucket);
    return point === undefined ? of.absent : of.value(point);
  });
}
