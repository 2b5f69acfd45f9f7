import type { ComponentChildren } from "preact";
import { CheckActions, checkTones, MaintenanceForm, RunNow } from "#console/web/checks/actions.tsx";
import { Deliveries } from "#console/web/checks/deliveries.tsx";
import { Episodes, LastResults, OfRollout } from "#console/web/checks/history.tsx";
import { ResponseTimes } from "#console/web/checks/response-times.tsx";
import { Strip } from "#console/web/checks/strip.tsx";
import { count, duration, ms, quietEnd, uptime } from "#console/web/format.ts";
import { may } from "#console/web/may.ts";
import { Missing, Notice, Panel, Waiting } from "#console/web/parts/blocks.tsx";
import { Sign } from "#console/web/parts/mark.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { path, useTitle } from "#console/web/router.tsx";
import { useRead } from "#console/web/use-read.ts";
import { callerWords, capitalize, checkWords, offWords } from "#kernel/words.ts";
import type { CheckView } from "#monitor/results/contract.ts";

export function CheckPage() {
  const id = path.value.slice("/checks/".length);
  const { data, error, isMissing, reload } = useRead("CheckReads/List", { ids: [id] }, 5_000);
  if (isMissing) return <NoCheck id={id} />;
  if (data === undefined) return <Waiting error={error} />;
  const [check] = data.checks;
  if (check === undefined) return <NoCheck id={id} />;
  return <Shown key={id} check={check} reload={reload} error={error} />;
}

function NoCheck({ id }: { id: string }) {
  return (
    <Missing title="Check not found" back={{ to: "/checks", words: "All checks" }}>
      No check or heartbeat is called <span class="mono">{id}</span>. It may have been removed from
      the definitions.
    </Missing>
  );
}

type Props = { check: CheckView; reload: () => void; error: string | undefined };

function Shown({ check, reload, error }: Props) {
  const isApi = check.kind === "api";
  const isOperator = may("operate");
  useTitle(`${check.name} · Checks`);
  return (
    <>
      <Heading check={check} reload={reload} />
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      <section class="panel" aria-label="Overview">
        <Strip check={check} />
        <CheckFacts check={check} />
        {isApi && isOperator && <RunNow check={check} />}
      </section>
      <div class="sides">
        <div class="stack">
          <ChangedBefore alert={check.alert} />
          {isApi && <ResponseTimes check={check} />}
          {isApi && <Locations check={check} />}
          {!isApi && <Alerts check={check} />}
        </div>
        <div class="stack">
          {isApi && <Alerts check={check} />}
          <LastResults check={check} />
          {isOperator && <Maintenance check={check} reload={reload} />}
        </div>
      </div>
    </>
  );
}

function Maintenance(props: Pick<Props, "check" | "reload">) {
  return (
    <Panel title="Maintenance">
      <MaintenanceForm {...props} />
    </Panel>
  );
}

function Heading({ check, reload }: Pick<Props, "check" | "reload">) {
  const { name, status, alert, reason, kind, quiet_until: quietUntil } = check;
  const off = offWords(check);
  const quietBy = check.quiet_by == null ? "" : `, by ${callerWords(check.quiet_by)}`;
  return (
    <section class="state-head">
      <div class="page-head">
        <div>
          <div class="state-title">
            <Sign tone={checkTones[status]} />
            <h1>{`${name}: ${capitalize(checkWords[status])}`}</h1>
          </div>
          {check.since !== null && (
            <p>
              Since <Time iso={check.since} />
            </p>
          )}
        </div>
        {may("operate") && <CheckActions check={check} reload={reload} />}
      </div>
      {alert !== null && (
        <Notice tone="bad">
          Alert #{alert.episode}, open since <Time iso={alert.opened_at} />. {reason}
          {alert.rollout !== null && <OfRollout {...alert.rollout} openedAt={alert.opened_at} />}
          {alert.acknowledged_by !== null &&
            ` Acknowledged by ${callerWords(alert.acknowledged_by)}.`}
        </Notice>
      )}
      {check.suppressed_by != null && (
        <Notice tone="info">
          {`Suppressed by ${check.suppressed_by}: it alerts nobody while that fails.`}
        </Notice>
      )}
      {off !== undefined && <Notice tone="info">{`It is ${off}.`}</Notice>}
      {quietUntil !== null && (
        <Notice tone="info">{`Quiet until ${quietEnd(quietUntil)}${quietBy}.`}</Notice>
      )}
      {check.reaches_nobody !== undefined && (
        <Notice tone="warn">
          This {kind === "api" ? "check" : "heartbeat"} alerts nobody: {check.reaches_nobody}.
        </Notice>
      )}
    </section>
  );
}

/** Of the open alert. */
function ChangedBefore({ alert }: Pick<CheckView, "alert">) {
  if (alert?.changes === undefined) return null;
  return (
    <Panel title="Changed before">
      {alert.changes.length === 0 && <p class="quiet">Nothing that changed fits this alert.</p>}
      <ul class="locations">
        {alert.changes.map(({ id, at, who, score, text }) => (
          <li key={id}>
            <span class="badge">{`${Math.round(100 * score)} %`}</span>
            <span class="quiet">
              <Time iso={at} isAge />
              {who !== null && ` by ${callerWords(who)}`}
            </span>
            <span class="reason">{capitalize(text)}.</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Alerts({ check }: { check: CheckView }) {
  const limit = 20;
  const episodes = useRead("CheckReads/Episodes", { check: check.id, limit }, 10_000);
  const events = useRead("AlertEvents/List", { check: check.id, limit }, 10_000);
  return (
    <Panel title="Alerts">
      {episodes.data === undefined ? (
        <Waiting error={episodes.error} />
      ) : (
        <Episodes alerts={episodes.data} limit={limit} />
      )}
      {events.data !== undefined && events.data.events.length > 0 && (
        <>
          <h3>Deliveries</h3>
          <Deliveries events={events.data.events} withCheck={false} reload={events.reload} />
        </>
      )}
    </Panel>
  );
}

type Fact = [name: string, value: ComponentChildren];

function CheckFacts({ check }: { check: CheckView }) {
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

function Locations({ check }: { check: CheckView }) {
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
