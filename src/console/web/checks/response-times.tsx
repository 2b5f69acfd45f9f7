/** The response times of a check with its thresholds, and the mean times of their phases. */
import { alongBuckets, bucketsOf, durations } from "#console/web/charts/axis.ts";
import { LazyChart, useHours } from "#console/web/charts/lazy.tsx";
import { ms } from "#console/web/format.ts";
import { Panel, Waiting } from "#console/web/parts/blocks.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { CheckChart, CheckView } from "#monitor/results/contract.ts";

const spans = [
  { hours: 3, name: "3 hours" },
  { hours: 24, name: "24 hours" },
  { hours: 168, name: "7 days" },
  { hours: 720, name: "30 days" },
];

export function ResponseTimes({ check }: { check: CheckView }) {
  const [hours, setHours] = useHours(spans);
  const { data, error } = useRead("CheckReads/Chart", { check: check.id, hours }, 30_000);
  return (
    <Panel
      title="Response time"
      beside={
        <fieldset class="choices">
          <legend class="visually-hidden">Time span</legend>
          {spans.map((span) => (
            <label key={span.hours}>
              <input
                type="radio"
                name="span"
                checked={span.hours === hours}
                onChange={() => setHours(span.hours)}
              />
              {span.name}
            </label>
          ))}
        </fieldset>
      }
    >
      {data === undefined ? (
        <Waiting error={error} />
      ) : (
        <Charts check={check} chart={data} hours={hours} />
      )}
    </Panel>
  );
}

type ChartsProps = { check: CheckView; chart: CheckChart; hours: number };

function Charts({ check, chart, hours }: ChartsProps) {
  const { points, bucket_seconds: bucketSeconds } = chart;
  if (points.length === 0) return <p class="quiet">No results in this time span.</p>;
  const to = Date.now() / 1_000;
  const span = { from: to - hours * 3_600, to };
  const times = bucketsOf(span, bucketSeconds);
  const found = points.map((point) => ({ at: point.starts_at, point }));
  const along = (value: (point: Point) => number) =>
    alongBuckets(times, found, { value, absent: null });
  return (
    <div class="stack">
      <LazyChart
        description={describe(check, chart)}
        times={times}
        span={span}
        lines={[
          { label: "max", colour: "--line-strong", values: along((p) => p.max_ms) },
          { label: "p95", colour: "--info-fill", values: along((p) => p.p95_ms) },
          { label: "p50", colour: "--good-fill", values: along((p) => p.p50_ms) },
        ]}
        thresholds={thresholdsOf(check)}
        unit={durations}
      />
      <h3>Phases (mean)</h3>
      <LazyChart
        description={`The phases of the response time of ${check.name}, stacked.`}
        times={times}
        span={span}
        lines={stackedPhases(along)}
        unit={durations}
      />
    </div>
  );
}

function thresholdsOf({ rule }: CheckView) {
  if (rule.kind !== "api") return [];
  return [
    { label: "slow above", value: rule.degraded_above_ms, colour: "--warn-fill" },
    { label: "failed above", value: rule.failed_above_ms, colour: "--bad-fill" },
  ];
}

type Point = CheckChart["points"][number];

const phases = [
  { key: "dns_ms", label: "dns", colour: "--calm-fill" },
  { key: "connect_ms", label: "connect", colour: "--info-fill" },
  { key: "tls_ms", label: "tls", colour: "--warn-fill" },
  { key: "first_byte_ms", label: "first byte", colour: "--good-fill" },
  { key: "transfer_ms", label: "transfer", colour: "--mute-fill" },
] as const;

/** Cumulative sums, the highest first, because each is drawn over those before it. */
function stackedPhases(along: (value: (point: Point) => number) => (number | null)[]) {
  const lines = phases.map(({ label, colour }, i) => ({
    label: `… to ${label}`,
    colour,
    isArea: true,
    values: along((point) =>
      phases.slice(0, i + 1).reduce((sum, { key }) => sum + (point[key] ?? 0), 0),
    ),
  }));
  return lines.reverse();
}

function describe({ name }: CheckView, { points }: CheckChart): string {
  const worst = Math.max(...points.map(({ max_ms }) => max_ms));
  const last = points.at(-1);
  return `Response times of ${name}: maximum ${ms(worst)}, latest median ${ms(last?.p50_ms ?? 0)}.`;
}
