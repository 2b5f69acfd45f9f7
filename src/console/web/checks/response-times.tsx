/** How long a check's answers took, with its thresholds drawn in, and where the time went. */
import { useState } from "preact/hooks";
import { LazyChart } from "#console/web/charts/lazy.tsx";
import { ms } from "#console/web/format.ts";
import { Waiting } from "#console/web/parts/notice.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { CheckChart, CheckView } from "#results/contract.ts";

const spans = [
  { hours: 3, name: "3 hours" },
  { hours: 24, name: "24 hours" },
  { hours: 168, name: "7 days" },
  { hours: 720, name: "30 days" },
];

export function ResponseTimes({ check }: { check: CheckView }) {
  const [hours, setHours] = useState(24);
  const { data, error } = useRead("check-chart", { check: check.id, hours }, 30_000);
  return (
    <section class="panel" aria-labelledby="times-title">
      <header class="panel-head">
        <h2 id="times-title">Response time</h2>
        <fieldset class="choices">
          <legend class="visually-hidden">How much is shown</legend>
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
      </header>
      {data === undefined ? <Waiting error={error} /> : <Charts check={check} chart={data} />}
    </section>
  );
}

function Charts({ check, chart }: { check: CheckView; chart: CheckChart }) {
  const { points } = chart;
  if (points.length === 0) return <p class="quiet">There are no results in this time yet.</p>;
  const times = points.map(({ starts_at }) => Date.parse(starts_at) / 1_000);
  return (
    <div class="stack">
      <LazyChart
        description={describe(check, chart)}
        times={times}
        lines={[
          { label: "max", colour: "--line-strong", values: points.map((p) => p.max_ms) },
          { label: "p95", colour: "--info-fill", values: points.map((p) => p.p95_ms) },
          { label: "p50", colour: "--good-fill", values: points.map((p) => p.p50_ms) },
        ]}
        thresholds={thresholdsOf(check)}
        format={ms}
      />
      <h3>Where the time goes (means)</h3>
      <LazyChart
        description={`The parts of the response time of ${check.name}, one on top of the other.`}
        times={times}
        lines={stackedPhases(points)}
        format={ms}
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

const phases = [
  { key: "dns_ms", label: "dns", colour: "--calm-fill" },
  { key: "connect_ms", label: "connect", colour: "--info-fill" },
  { key: "tls_ms", label: "tls", colour: "--warn-fill" },
  { key: "first_byte_ms", label: "first byte", colour: "--good-fill" },
  { key: "transfer_ms", label: "transfer", colour: "--mute-fill" },
] as const;

/** The sums, the highest first: each covers those below it. */
function stackedPhases(points: CheckChart["points"]) {
  const sums = points.map(() => 0);
  const lines = phases.map(({ key, label, colour }) => ({
    label: `… to ${label}`,
    colour,
    isArea: true,
    values: points.map((point, i) => {
      sums[i] = (sums[i] ?? 0) + (point[key] ?? 0);
      return sums[i] ?? null;
    }),
  }));
  return lines.reverse();
}

function describe({ name }: CheckView, { points }: CheckChart): string {
  const worst = Math.max(...points.map(({ max_ms }) => max_ms));
  const last = points.at(-1);
  return `Response times of ${name}: at worst ${ms(worst)}, of late ${ms(last?.p50_ms ?? 0)} at the median.`;
}
