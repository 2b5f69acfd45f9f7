/** The checks and heartbeats that the search finds, the worst first. */
import { query, setQuery } from "#console/web/address.ts";
import { checkTones } from "#console/web/checks/actions.tsx";
import { Deliveries } from "#console/web/checks/deliveries.tsx";
import { Strip } from "#console/web/checks/strip.tsx";
import { count, duration, inWords, ms, quietEnd, uptime } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Notice, Panel, Waiting } from "#console/web/parts/blocks.tsx";
import { ChoiceField, SearchField } from "#console/web/parts/filters.tsx";
import { Sign } from "#console/web/parts/mark.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { Link } from "#console/web/router.tsx";
import { Nobody } from "#console/web/routing/route-map.tsx";
import { when } from "#console/web/times.ts";
import { useRead } from "#console/web/use-read.ts";
import { callerWords, capitalize, checkWords, offWords } from "#kernel/words.ts";
import type { CheckList, CheckView } from "#monitor/results/contract.ts";

type Counts = NonNullable<CheckList["counts"]>;

export function ChecksPage() {
  const asked = searchOf(query.value);
  const { data, latest, error } = useRead("CheckReads/List", asked, 5_000);
  if (latest?.counts === undefined) return <Waiting error={error} />;
  const { counts, checks } = latest;
  const listOf = (kind: CheckView["kind"]) => ({
    kind,
    checks: checks.filter((check) => check.kind === kind),
    counts,
    limit: asked.limit,
  });
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{headline(counts)}</h1>
          <p>
            Monitoring, updated <Time iso={latest.taken_at} isAge />.
          </p>
        </div>
      </div>
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      <Nobody reason={latest.reaches_nobody} />
      <DeadLetters />
      <Filters counts={counts} />
      <div class="sides" aria-busy={data === undefined}>
        <List title="API checks" word="check" command="checks" {...listOf("api")} />
        <List title="Heartbeats" word="heartbeat" command="heartbeats" {...listOf("heartbeat")} />
      </div>
    </>
  );
}

function headline({ alerts, total, statuses: { silent = 0 } }: Counts): string {
  if (alerts > 0) return `${count(alerts)} open alert${alerts === 1 ? "" : "s"}`;
  const all = total.api + total.heartbeat;
  return silent > 0 ? `${count(silent)} of ${count(all)} checks are silent` : "No open alerts";
}

const refine = (name: string) => (value: string) =>
  setQuery({ [name]: value || undefined, limit: undefined });

function Filters({ counts: { statuses } }: { counts: Counts }) {
  const choices = Object.entries(statuses).map(([value, count]) => ({ value, count }));
  const wordsOf = (value: string) => capitalize(checkWords[value as CheckView["status"]] ?? value);
  return (
    <search class="filters of-checks">
      <SearchField placeholder="name or id" change={refine("search")} />
      <ChoiceField
        of="status"
        name="State"
        choices={choices}
        wordsOf={wordsOf}
        change={refine("status")}
      />
    </search>
  );
}

type ListProps = {
  title: string;
  word: string;
  /** The command that adds one. */
  command: string;
  kind: CheckView["kind"];
  checks: readonly CheckView[];
  counts: Counts;
  limit: number;
};

function List({ title, word, command, kind, checks, counts, limit }: ListProps) {
  const found = counts.found[kind];
  const rest = found - checks.length;
  return (
    <section class="panel" aria-label={title}>
      <header class="panel-head">
        <h2>{title}</h2>
        <span class="quiet" role="status">
          {rest > 0 && `${count(checks.length)} of ${count(found)}`}
        </span>
      </header>
      {counts.total[kind] === 0 ? (
        <p class="quiet">
          No {word} yet: <code class="mono">npx vedette {command} add</code> adds one.
        </p>
      ) : found === 0 ? (
        <p class="quiet">No {word} is so.</p>
      ) : (
        <ul class="checks">
          {checks.map((check) => (
            <Row key={check.id} check={check} />
          ))}
        </ul>
      )}
      {rest > 0 && limit < mostShown && (
        <button type="button" onClick={() => setQuery({ limit: String(limit + pageSize) })}>
          Show {pageSize} more
        </button>
      )}
      {rest > 0 && limit >= mostShown && <p class="quiet">Search for the others.</p>}
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

const pageSize = 50;
/** Of each kind: a browser draws no more in good time. */
const mostShown = 400;

type Search = { search?: string; status?: CheckView["status"]; limit: number };

/** Leaves out what no page writes: an address may come from anywhere. */
function searchOf(query: Readonly<URLSearchParams>): Search {
  const search = (query.get("search") ?? "").slice(0, 200);
  const status = query.get("status") ?? "";
  const limit = Number(query.get("limit") ?? pageSize);
  const isLimit = Number.isInteger(limit) && limit >= 1 && limit <= mostShown;
  return {
    ...(search !== "" && { search }),
    ...(isStatus(status) && { status }),
    limit: isLimit ? limit : pageSize,
  };
}

function isStatus(text: string): text is CheckView["status"] {
  return Object.hasOwn(checkTones, text);
}
