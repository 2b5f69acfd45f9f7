/** The start of every bucket that a span touches, in Unix seconds. */
export function bucketsOf(span: { from: number; to: number }, seconds: number): number[] {
  const first = Math.floor(span.from / seconds) * seconds;
  const count = Math.floor((span.to - first) / seconds) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, n) => first + n * seconds);
}

/** The value of each bucket; `absent` for buckets without a point. */
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
