/** Draws a comparison of two images: both sides over time, and the evidence beside the threshold at which it stops. */
import { counts } from "#console/web/charts/axis.ts";
import { LazyChart } from "#console/web/charts/lazy.tsx";
import { count } from "#console/web/format.ts";
import type { GateStatus } from "#rollout/gates/contract.ts";

type Comparison = NonNullable<GateStatus["gates"][number]["comparison"]>;

export type ComparisonProps = { comparison: Comparison };

const names = { errors: "Errors", slow: "Slow requests", restarts: "Restarts" } as const;

export function ComparisonView({ comparison }: ComparisonProps) {
  const { points, looks, metrics, threshold, new_sentinels, old_sentinels } = comparison;
  return (
    <div class="comparison">
      {metrics.length > 0 && (
        <ul class="plain-list">
          {metrics.map((one) => (
            <li key={one.metric}>
              <b>{names[one.metric]}</b>: {rateOf(one, "new")} with the new image,{" "}
              {rateOf(one, "old")} with the old one ({count(one.new.count)}, expected{" "}
              {count(Math.round(one.expected))})
            </li>
          ))}
          <li class="quiet">
            {new_sentinels ?? 0} new and {old_sentinels ?? 0} old sentinels
            {comparison.mode === "history" && ", and their hours before the rollout"}
          </li>
        </ul>
      )}
      {points.length > 0 && (
        <>
          <Sides name="Errors" points={points} at={1} />
          <Sides name="Slow requests" points={points} at={2} />
        </>
      )}
      {looks.length > 0 && points.length > 0 && <EvidenceChart {...{ looks, threshold, points }} />}
    </div>
  );
}

type Metric = Comparison["metrics"][number];

function rateOf({ metric, ...sides }: Metric, side: "new" | "old"): string {
  const { rate } = sides[side];
  return metric === "restarts"
    ? `${short(rate * 60)} an hour and sentinel`
    : `${short(rate * 100)} %`;
}

const short = (value: number) => String(Number(value.toPrecision(3)));

type Points = Comparison["points"];

function Sides({ name, points, at }: { name: string; points: Points; at: 1 | 2 }) {
  const times = points.map((point) => Date.parse(point.at) / 1_000);
  const perThousand = (side: "new" | "old") =>
    points.map((point) => {
      const [requests] = point[side];
      return requests === 0 ? null : Number(short((point[side][at] / requests) * 1_000));
    });
  const title = `${name} of 1,000 requests`;
  return (
    <>
      <h3>{title}</h3>
      <LazyChart
        description={`${title}, with the new and the old image, since the end of the wave.`}
        times={times}
        span={spanOf(times)}
        lines={[
          { label: "new image", colour: "--info-fill", values: perThousand("new") },
          { label: "old image", colour: "--good-fill", values: perThousand("old"), dash: [6, 4] },
        ]}
        unit={counts}
      />
    </>
  );
}

type Evidence = Pick<Comparison, "looks" | "threshold" | "points">;

/** The evidence of a look stays until another one changes it. */
function EvidenceChart({ looks, threshold, points }: Evidence) {
  const times = points.map(({ at }) => Date.parse(at) / 1_000);
  const totalAt = (time: number) =>
    looks.findLast(({ at }) => Date.parse(at) / 1_000 <= time + 60)?.total ?? 0;
  // Evidence may have a hundred digits: from twice the threshold on it makes no difference.
  const values = times.map((time) => Math.min(2 * threshold, Number(short(totalAt(time)))));
  return (
    <>
      <h3>Evidence that the new image is worse</h3>
      <LazyChart
        description={`The evidence that the new image is worse; the rollout stops at ${threshold}.`}
        times={times}
        span={spanOf(times)}
        lines={[
          { label: "evidence", colour: "--bad-fill", values },
          {
            label: "the rollout stops",
            colour: "--warn-fill",
            values: times.map(() => threshold),
            dash: [6, 4],
          },
        ]}
        unit={counts}
      />
    </>
  );
}

/** One point alone has a minute. */
function spanOf(times: readonly number[]): { from: number; to: number } {
  const [from = 0, to = from] = [times[0], times.at(-1)];
  return { from, to: Math.max(to, from + 60) };
}
