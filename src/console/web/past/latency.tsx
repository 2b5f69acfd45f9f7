/** The response times of one API check over the time of a rollout, on the axis of what ran. */
import { useState } from "preact/hooks";
import { query, setQuery } from "#console/web/address.ts";
import { alongBuckets, bucketsOf, durations } from "#console/web/charts/axis.ts";
import { LazyChart } from "#console/web/charts/lazy.tsx";
import { Waiting } from "#console/web/parts/blocks.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { CheckChart, CheckView } from "#monitor/results/contract.ts";
import { orderChecks, type Past, spanOf, timeOf } from "./moments.ts";
import { placeOf } from "./timeline.tsx";

type Props = {
  past: Past;
  moment: number;
  /** The ids of the checks of the rollout's gate. */
  gate: readonly string[];
};

export function Latency({ past, moment, gate }: Props) {
  const asked = query.value.get("check");
  const [first] = useState(asked);
  const ids = [...gate, ...(first === null ? [] : [first])].slice(0, 100);
  const { data, error } = useRead("CheckReads/List", { ids, kind: "api", limit: 400 });
  const checks = orderChecks(data?.checks ?? [], gate);
  const chosen = checks.find(({ id }) => id === asked) ?? checks[0];
  return (
    <section class="panel latency" aria-labelledby="latency-title">
      <header class="panel-head">
        <h2 id="latency-title">Response time</h2>
        {chosen !== undefined && <CheckChoice checks={checks} chosen={chosen} gate={gate} />}
      </header>
      {data === undefined ? (
        <Waiting error={error} />
      ) : chosen === undefined ? (
        <p class="quiet">There is no API check.</p>
      ) : (
        <Times key={chosen.id} check={chosen} past={past} moment={moment} />
      )}
    </section>
  );
}

type ChoiceProps = { checks: readonly CheckView[]; chosen: CheckView; gate: readonly string[] };

function CheckChoice({ checks, chosen, gate }: ChoiceProps) {
  return (
    <label class="row">
      Check
      <select
        value={chosen.id}
        onChange={(event) => setQuery({ check: event.currentTarget.value })}
      >
        {checks.map(({ id, name }) => (
          <option key={id} value={id}>
            {gate.includes(id) ? `${name} (gate)` : name}
          </option>
        ))}
      </select>
    </label>
  );
}

type TimesProps = { check: CheckView; past: Past; moment: number };

function Times({ check, past, moment }: TimesProps) {
  const { first, end } = spanOf(past);
  const span = { from: timeOf(past, first) / 1_000, to: timeOf(past, end) / 1_000 };
  const hours = Math.min(9_600, Math.ceil((span.to - span.from) / 3_600));
  const until = new Date(span.to * 1_000).toISOString();
  const { data, error } = useRead("CheckReads/Chart", { check: check.id, hours, until });
  if (data === undefined) return <Waiting error={error} />;
  return <Lines check={check} chart={data} span={span} now={placeOf(past, moment)} />;
}

type LinesProps = {
  check: CheckView;
  chart: CheckChart;
  span: { from: number; to: number };
  /** The place of the shown moment, as a value of CSS. */
  now: string;
};

function Lines({ check, chart, span, now }: LinesProps) {
  const { bucket_seconds: seconds, points } = chart;
  // A bucket outside of the picture has no part in its range of values.
  const times = bucketsOf(span, seconds).filter((time) => time >= span.from);
  const found = points.map((point) => ({ at: point.starts_at, point }));
  const along = (value: (point: CheckChart["points"][number]) => number) =>
    alongBuckets(times, found, { value, absent: null });
  const p95 = along((point) => point.p95_ms);
  if (p95.every((value) => value === null)) {
    return <p class="quiet">{`There are no results of ${check.name} within this rollout.`}</p>;
  }
  return (
    <div class="latency-chart">
      <LazyChart
        description={`Response times of ${check.name} during the rollout: p50 and p95 by ${seconds === 60 ? "minute" : "hour"}.`}
        times={times}
        span={span}
        lines={[
          { label: "p95", colour: "--info-fill", values: p95 },
          { label: "p50", colour: "--good-fill", values: along((point) => point.p50_ms) },
        ]}
        thresholds={
          check.rule.kind === "api"
            ? [{ label: "slow above", value: check.rule.degraded_above_ms, colour: "--warn-fill" }]
            : []
        }
        unit={durations}
      />
      <div class="timeline-marks" aria-hidden="true">
        <i class="now" style={{ left: now }} />
      </div>
    </div>
  );
}
