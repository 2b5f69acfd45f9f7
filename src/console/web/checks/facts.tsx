/** The definition and status of a check, and its status by location. */
import type { ComponentChildren } from "preact";
import { count, duration, ms, uptime } from "#console/web/format.ts";
import { Panel } from "#console/web/parts/blocks.tsx";
import { Sign } from "#console/web/parts/mark.tsx";
import { Time } from "#console/web/parts/time.tsx";
import type { CheckView } from "#monitor/results/contract.ts";
import { checkTones } from "./tone.ts";

type Fact = [name: string, value: ComponentChildren];

export function CheckFacts({ check }: { check: CheckView }) {
  const facts: Fact[] = [
    ["Uptime, 24 hours", uptime(check.uptime_24h, 3)],
    [
      check.kind === "api" ? "Last run" : "Last ping",
      check.last_at === null ? "never" : <Time iso={check.last_at} isAge />,
    ],
    [
      "Last duration",
      check.last_duration_ms === null ? "not known yet" : ms(check.last_duration_ms),
    ],
    ["Notifies", check.channels.join(", ") || "nobody"],
    ...ruleFacts(check),
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function ruleFacts({ rule, due_at: dueAt, tls_days_left: days }: CheckView): Fact[] {
  if (rule.kind === "heartbeat") {
    return [
      ["Watches", rule.watches],
      rule.cron === undefined
        ? ["Expected every", duration(rule.period_seconds)]
        : ["Expected at", rule.cron],
      ["Grace", duration(rule.grace_seconds)],
      ...(dueAt === null ? [] : ([["Due by", <Time key="due" iso={dueAt} />]] satisfies Fact[])),
    ];
  }
  return [
    ["Calls", `${rule.method} ${rule.path}`],
    ...rule.details.map(({ name, value }): Fact => [name, value]),
    ["Every", duration(rule.frequency_seconds)],
    ["Slow above", ms(rule.degraded_above_ms)],
    ["Failed above", ms(rule.failed_above_ms)],
    ...(days === null
      ? []
      : ([["Certificate", `${count(days)} day${days === 1 ? "" : "s"} left`]] satisfies Fact[])),
  ];
}

export function Locations({ check }: { check: CheckView }) {
  if (check.locations.length === 0) return null;
  return (
    <Panel title="Locations">
      <ul class="locations">
        {check.locations.map(({ location, status, reported_at, duration_ms, reason }) => (
          <li key={location}>
            <span class="badge">
              <Sign tone={checkTones[status]} />
              {location}
            </span>
            <span class="quiet">
              {status === "silent" ? "silent; last report " : `${status} in ${ms(duration_ms)}, `}
              <Time iso={reported_at} isAge />
            </span>
            {reason !== null && <span class="reason">{reason}</span>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
