/** Every check and heartbeat, the worst first. */
import { Deliveries } from "#console/web/checks/deliveries.tsx";
import { Strip } from "#console/web/checks/strip.tsx";
import { byUrgency, checkTones } from "#console/web/checks/tone.ts";
import { duration, inWords, ms, quietEnd, uptime } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Notice, Panel, Waiting } from "#console/web/parts/blocks.tsx";
import { Sign } from "#console/web/parts/mark.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { Link } from "#console/web/router.tsx";
import { Nobody } from "#console/web/routing/route-map.tsx";
import { when } from "#console/web/times.ts";
import { useRead } from "#console/web/use-read.ts";
import { callerWords, capitalize, checkWords, offWords } from "#kernel/words.ts";
import type { CheckView } from "#monitor/results/contract.ts";

export function ChecksPage() {
  const { data, error } = useRead("CheckReads/List", {}, 5_000);
  if (data === undefined) return <Waiting error={error} />;
  const of = (kind: CheckView["kind"]) =>
    data.checks.filter((check) => check.kind === kind).sort(byUrgency);
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{headline(data.checks)}</h1>
          <p>
            Monitoring, updated <Time iso={data.taken_at} isAge />.
          </p>
        </div>
      </div>
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      <Nobody checks={data} />
      <DeadLetters />
      <div class="sides">
        <List title="API checks" word="check" command="checks" checks={of("api")} />
        <List title="Heartbeats" word="heartbeat" command="heartbeats" checks={of("heartbeat")} />
      </div>
    </>
  );
}

function headline(checks: readonly CheckView[]): string {
  const alerts = checks.filter(({ alert }) => alert !== null).length;
  if (alerts > 0) return `${alerts} open alert${alerts === 1 ? "" : "s"}`;
  const silent = checks.filter(({ status }) => status === "silent").length;
  return silent > 0 ? `${silent} of ${checks.length} checks are silent` : "No open alerts";
}

type ListProps = {
  title: string;
  word: string;
  /** The command that adds one. */
  command: string;
  checks: readonly CheckView[];
};

function List({ title, word, command, checks }: ListProps) {
  return (
    <section class="panel" aria-label={title}>
      <header class="panel-head">
        <h2>{title}</h2>
      </header>
      {checks.length === 0 ? (
        <p class="quiet">
          No {word} yet: <code class="mono">npx vedette {command} add</code> adds one.
        </p>
      ) : (
        <ul class="checks">
          {checks.map((check) => (
            <Row key={check.id} check={check} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Row({ check }: { check: CheckView }) {
  const { id, name, status, environment } = check;
  return (
    <li class="check">
      <span class="badge check-state">
        <Sign tone={checkTones[status]} />
        {capitalize(checkWords[status])}
      </span>
      <div class="check-name">
        <Link to={`/checks/${id}`}>{name}</Link> <span class="tag">{environment}</span>
        <p class="quiet">{describe(check)}</p>
      </div>
      <Strip check={check} />
      <div class="check-numbers">
        {check.uptime_24h !== null && <b>{uptime(check.uptime_24h, 2)}</b>}
        <Last check={check} />
      </div>
    </li>
  );
}

function Last({ check: { kind, last_at: lastAt, last_duration_ms: took } }: { check: CheckView }) {
  if (lastAt === null) return <span class="quiet">no results yet</span>;
  return (
    <span class="quiet">
      {kind === "api" && took !== null && `${ms(took)}, `}
      <Time iso={lastAt} isAge />
    </span>
  );
}

function describe(check: CheckView): string {
  const { alert, quiet_until: quietUntil, reason, due_at: dueAt } = check;
  const off = offWords(check);
  const parts: string[] = [];
  if (check.suppressed_by != null) parts.push(`suppressed by ${check.suppressed_by}`);
  if (alert !== null)
    parts.push(`Alert #${alert.episode} since ${when(alert.opened_at, nowMs.value)}`);
  if (reason !== null) parts.push(reason);
  if (alert?.acknowledged_by != null)
    parts.push(`acknowledged by ${callerWords(alert.acknowledged_by)}`);
  if (quietUntil !== null) parts.push(`quiet until ${quietEnd(quietUntil)}`);
  if (off !== undefined) parts.push(off);
  if (parts.length === 0 && dueAt !== null)
    parts.push(`fails ${inWords(dueAt, nowMs.value)} without a ping`);
  const nobody = check.reaches_nobody === undefined ? "" : " · alerts nobody";
  return `${parts.join(" · ") || ruleWords(check)}${nobody}`;
}

function ruleWords({ rule }: CheckView): string {
  if (rule.kind === "api") {
    return `${rule.method} ${rule.path} every ${duration(rule.frequency_seconds)}`;
  }
  const { watches, cron } = rule;
  return cron === undefined
    ? `${watches}, every ${duration(rule.period_seconds)}`
    : `${watches}, at ${cron}`;
}

/** Shown only when there are dead letters: then someone was not notified. */
function DeadLetters() {
  const { data, reload } = useRead("AlertEvents/List", { status: "dead", limit: 100 }, 15_000);
  if (data === undefined || data.events.length === 0) return null;
  return (
    <Panel title="Alert events that were not accepted">
      <Deliveries events={data.events} withCheck reload={reload} />
    </Panel>
  );
}
