/** Prints the status and the results of checks. */
import { styleText } from "node:util";
import { createTable, plain } from "#cli/table.ts";
import { formatDuration, formatSpan, formatUtc } from "#kernel/time.ts";
import { callerWords, checkWords, offWords, rolloutOfAlert } from "#kernel/words.ts";
import type { CheckReplay } from "#monitor/replay-contract.ts";
import type {
  CheckEpisode,
  CheckEpisodes,
  CheckList,
  CheckResultView,
  CheckSummary,
  CheckSuppression,
  CheckView,
} from "#monitor/results/contract.ts";

const colours: Record<CheckView["status"], "green" | "yellow" | "red" | "cyan"> = {
  ok: "green",
  degraded: "yellow",
  late: "yellow",
  silent: "yellow",
  failed: "red",
  pending: "cyan",
  paused: "cyan",
};

export function reportChecks({ checks, reaches_nobody: nobody }: CheckList): string {
  const table = createTable(["check", "status", "since", "last", "took", "24 h", "alert"]);
  for (const check of checks) {
    table.push([
      check.id,
      paintStatus(check.status),
      formatUtc(check.since),
      formatUtc(check.last_at),
      formatMs(check.last_duration_ms),
      check.uptime_24h === null ? "" : `${formatPercent(check.uptime_24h)} %`,
      describeAlert(check),
    ]);
  }
  if (nobody === undefined) return String(table);
  return `No alert leaves this program yet: ${plain(nobody)}. Next: npx vedette doctor\n\n${table}`;
}

/** The open alert, who has acknowledged it, whether it pages, and until when the check is quiet. */
export function describeAlert(check: CheckView): string {
  const { alert, channels = [check.channel], quiet_until, quiet_by, reason } = check;
  const quieter = quiet_by == null ? "" : ` by ${plain(callerWords(quiet_by))}`;
  const quiet = quiet_until === null ? "" : `quiet until ${quietEnd(check)}${quieter}`;
  const off = plain(offWords(check) ?? "");
  const nobody = check.reaches_nobody === undefined ? "" : "alerts nobody";
  if (alert === null) {
    return join([join([suppressedWords(check), off, quiet]) || plain(reason ?? ""), nobody]);
  }
  const { episode, opened_at, acknowledged_by: by, rollout } = alert;
  return join([
    `#${episode} since ${formatUtc(opened_at)}: ${plain(reason ?? "")}`,
    channels.some((name) => name !== null) ? nobody : "alerts nobody",
    by === null ? "" : `acknowledged by ${plain(callerWords(by))}`,
    off,
    rollout === null ? "" : plain(rolloutOfAlert(rollout, opened_at)),
    quiet,
  ]);
}

function join(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("; ");
}

function suppressedWords({ suppressed_by: by, reason }: CheckView): string {
  if (by == null) return "";
  return `suppressed by ${plain(by)}${reason === null ? "" : `: ${plain(reason)}`}`;
}

/** A mute without an end is stored as the last instant that a date can express. */
function quietEnd({ quiet_until }: CheckView): string {
  return quiet_until?.startsWith("9999-") ? "unmuted" : formatUtc(quiet_until);
}

type History = CheckEpisodes & { summary: CheckSummary; results: CheckResultView[] };

/** `limit`: the most lines of a table. */
export function reportHistory({ summary, results, ...alerts }: History, limit: number): string {
  return [
    reportSummary(summary),
    reportAlerts(alerts, limit),
    results.length === 0 ? "No results to show." : reportResults(results),
  ].join("\n\n");
}

function reportSummary({ check, since, total, locations, ...counts }: CheckSummary): string {
  if (total === null) return `${check} has no results since ${formatUtc(since)}.`;
  const { runs, failed_runs, missed_ticks } = counts;
  const missed = missed_ticks === 0 ? "" : `, ${missed_ticks} missed by the monitor`;
  const title = `${check} since ${formatUtc(since)}: ${runs} runs, ${failed_runs} failed${missed}`;
  const head = ["location", "results", "degraded", "failed", "p50", "p95", "p99", "max"];
  const table = createTable([...head, "dns", "connect", "tls", "first byte", "transfer"]);
  const rows = locations.length > 1 ? [...locations, { location: "all", ...total }] : locations;
  for (const row of rows) {
    table.push([
      plain(row.location),
      row.results,
      row.degraded,
      row.failed,
      ...[row.p50_ms, row.p95_ms, row.p99_ms, row.max_ms].map(formatMs),
      ...[row.dns_ms, row.connect_ms, row.tls_ms, row.first_byte_ms, row.transfer_ms].map(formatMs),
    ]);
  }
  return `${title}\n${table}`;
}

/** The alerts and the times in which one was suppressed, the newest first. */
function reportAlerts({ episodes, suppressions }: CheckEpisodes, limit: number): string {
  const lines = [...episodes.map(lineOfEpisode), ...suppressions.map(lineOfSuppression)];
  if (lines.length === 0) return "No alerts.";
  const table = createTable(["alert", "opened", "resolved", "lasted", "delivered", "reason"]);
  const newest = lines.toSorted((a, b) => Date.parse(b.from) - Date.parse(a.from)).slice(0, limit);
  for (const { name, from, until, goesOn, delivered, reason } of newest) {
    const lasted = until === null ? "" : formatSpan(from, until);
    const end = until === null ? goesOn : formatUtc(until);
    table.push([name, formatUtc(from), end, lasted, delivered, plain(reason)]);
  }
  return String(table);
}

/** `goesOn`: what it is while `until` is null. */
type AlertLine = Record<"name" | "from" | "goesOn" | "delivered" | "reason", string> & {
  until: string | null;
};

function lineOfEpisode(alert: CheckEpisode): AlertLine {
  const { episode, opened_at: from, resolved_at: until, rollout } = alert;
  const reason = [alert.reason, ...(rollout === null ? [] : [rolloutOfAlert(rollout, from)])].join(
    "; ",
  );
  const deliveredAt = alert.opened_delivered_at;
  const delivered = deliveredAt === null ? "no" : `after ${formatSpan(from, deliveredAt)}`;
  return { name: `#${episode}`, from, until, goesOn: "open", delivered, reason };
}

function lineOfSuppression(suppression: CheckSuppression): AlertLine {
  const { began_at: from, ended_at: until, suppressed_by: by } = suppression;
  const reason = `by ${by}: ${suppression.reason}`;
  return { name: "suppressed", from, until, goesOn: "lasts", delivered: "to nobody", reason };
}

function reportResults(results: readonly CheckResultView[]): string {
  const table = createTable(["run", "location", "grade", "took", "status", "reason"]);
  for (const { scheduled_at, location, grade, duration_ms, status, reason } of results) {
    const took = formatMs(duration_ms);
    const why = plain(reason ?? "");
    table.push([
      formatUtc(scheduled_at),
      plain(location),
      paintStatus(grade),
      took,
      status ?? "",
      why,
    ]);
  }
  return String(table);
}

export function reportReplay({ check, since, runs, as_defined, as_asked }: CheckReplay): string {
  const title = `${check}: ${runs} recorded runs since ${formatUtc(since)}`;
  const head = ["rules", "degraded above", "failed above", "failed runs", "locations"];
  const table = createTable([...head, "ok", "degraded", "failed", "alerts", "alerting"]);
  for (const [name, rules] of [
    ["as defined", as_defined],
    ["as asked", as_asked],
  ] as const) {
    const quorum = rules.failed_at_percent;
    table.push([
      name,
      formatDuration(rules.degraded_above_ms),
      formatDuration(rules.failed_above_ms),
      rules.failed_run_threshold,
      quorum === 0 ? "any" : `${quorum} %`,
      rules.ok,
      rules.degraded,
      rules.failed,
      rules.alerts,
      formatDuration(rules.alerting_seconds * 1_000),
    ]);
  }
  return [title, String(table), ...reportReplayed(as_asked)].join("\n");
}

function reportReplayed({ alerts, episodes }: CheckReplay["as_asked"]): string[] {
  if (alerts === 0) return ["", "Under these rules nothing would have paged."];
  const table = createTable(["would have paged", "for", "reason"]);
  for (const { opened_at, resolved_at, reason } of episodes) {
    const lasted = resolved_at === null ? "still open" : formatSpan(opened_at, resolved_at);
    table.push([formatUtc(opened_at), lasted, plain(reason)]);
  }
  const older = alerts - episodes.length;
  return ["", String(table), ...(older > 0 ? [`and ${older} earlier ones`] : [])];
}

export function paintStatus(status: CheckView["status"]): string {
  return styleText(colours[status], checkWords[status], { stream: process.stdout });
}

function formatMs(ms: number | null): string {
  return ms === null ? "" : formatDuration(ms);
}

/** Rounds down, so that only 100 % is shown as 100. */
function formatPercent(percent: number): string {
  return percent === 100 ? "100" : (Math.floor(percent * 100) / 100).toFixed(2);
}
