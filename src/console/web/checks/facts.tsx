/** The definition and status of a check, and its status by location. */
import { ago, day, duration, ms, uptime } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Sign } from "#console/web/parts/mark.tsx";
import type { CheckView } from "#monitor/results/contract.ts";
import { notified } from "./notified.ts";

export function CheckFacts({ check }: { check: CheckView }) {
  const facts: [string, string][] = [
    ["Uptime, 24 hours", uptime(check.uptime_24h, 3)],
    [
      check.kind === "api" ? "Last run" : "Last ping",
      check.last_at === null ? "never" : ago(check.last_at, nowMs.value),
    ],
    ["Last duration", check.last_duration_ms === null ? "–" : ms(check.last_duration_ms)],
    ["Notifies", notified(check).join(", ") || "nobody"],
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

function ruleFacts({ rule, due_at: dueAt, tls_days_left: days }: CheckView): [string, string][] {
  if (rule.kind === "heartbeat") {
    return [
      ["Watches", rule.watches],
      rule.cron === undefined
        ? ["Expected every", duration(rule.period_seconds)]
        : ["Expected at", rule.cron],
      ["Grace", duration(rule.grace_seconds)],
      ...(dueAt === null ? [] : ([["Failed at", day(dueAt)]] as [string, string][])),
    ];
  }
  return [
    ["Calls", `${rule.method} ${rule.path}`],
    ...(rule.details ?? []).map(({ name, value }): [string, string] => [name, value]),
    ["Every", duration(rule.frequency_seconds)],
    ["Slow above", ms(rule.degraded_above_ms)],
    ["Failed above", ms(rule.failed_above_ms)],
    ...(days === null ? [] : ([["Certificate", `${days} days left`]] as [string, string][])),
  ];
}

const tones = { ok: "good", degraded: "warn", failed: "bad", silent: "calm" } as const;

export function Locations({ check }: { check: CheckView }) {
  if (check.locations.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="locations-title">
      <header class="panel-head">
        <h2 id="locations-title">Locations</h2>
      </header>
      <ul class="locations">
        {check.locations.map(({ location, status, reported_at, duration_ms, reason }) => (
          <li key={location}>
            <span class="badge">
              <Sign tone={tones[status]} />
              {location}
            </span>
            <span class="quiet">
              {status === "silent"
                ? `silent; last report ${ago(reported_at, nowMs.value)}`
                : `${status} in ${ms(duration_ms)}, ${ago(reported_at, nowMs.value)}`}
            </span>
            {reason !== null && <span class="reason">{reason}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
