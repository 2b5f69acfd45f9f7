/** Commands on checks: their status, results and replay, and what operators do with one. */
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { printAnswer } from "#cli/print.ts";
import { plain } from "#cli/table.ts";
import { pick } from "#kernel/text.ts";
import { formatDuration, formatUtc } from "#kernel/time.ts";
import { callerWords } from "#kernel/words.ts";
import {
  type AlertState,
  apiCheckHandlers,
  apiCheckService,
  heartbeatService,
  type OperatorHandlerName,
  operatorHandlers,
  type RunNowAnswer,
} from "#monitor/operations/contract.ts";
import { reportChecks, reportHistory, reportReplay } from "./report.ts";

export async function listChecks(options: GlobalOptions): Promise<number> {
  const list = await connect(options).checks("List", {});
  return printAnswer(list, options.json, reportChecks);
}

type HistoryOptions = GlobalOptions & {
  since?: number;
  limit: number;
  location?: string;
  grade?: "ok" | "degraded" | "failed";
};

/** The summary of the whole span, the alerts in it, and the last results. */
export async function showHistory(check: string, options: HistoryOptions): Promise<number> {
  const { checks } = connect(options);
  const { since: hours = 24, limit, location, grade } = options;
  const summary = await checks("Summary", { check, hours });
  const filter = { ...(location !== undefined && { location }), ...(grade && { grade }) };
  const [{ episodes, suppressions }, { results }] = await Promise.all([
    checks("Episodes", { check, limit }),
    checks("History", { check, limit, since: summary.since, ...filter }),
  ]);
  const isInSpan = (at: string | null) => at === null || at >= summary.since;
  const history = {
    summary,
    episodes: episodes.filter(({ resolved_at }) => isInSpan(resolved_at)),
    suppressions: suppressions.filter(({ ended_at }) => isInSpan(ended_at)),
    results,
  };
  return printAnswer(history, options.json, () => reportHistory(history, limit));
}

type ReplayOptions = GlobalOptions & {
  since?: number;
  failedAbove?: number;
  degradedAbove?: number;
  failedRuns?: number;
  failedAtPercent?: number;
};

export async function replay(check: string, options: ReplayOptions): Promise<number> {
  const { since, failedAbove, degradedAbove, failedRuns, failedAtPercent } = options;
  const outcome = await connect(options).checks("Replay", {
    check,
    ...(since !== undefined && { hours: since }),
    ...(failedAbove !== undefined && { failed_above_ms: failedAbove }),
    ...(degradedAbove !== undefined && { degraded_above_ms: degradedAbove }),
    ...(failedRuns !== undefined && { failed_run_threshold: failedRuns }),
    ...(failedAtPercent !== undefined && { failed_at_percent: failedAtPercent }),
  });
  return printAnswer(outcome, options.json, reportReplay);
}

/** Exit code 1: the run failed. */
export async function runCheck(check: string, options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const { checks } = await connection.checks("List", {});
  pick(
    "API check",
    check,
    checks.filter(({ kind }) => kind === "api"),
  );
  const { output } = apiCheckHandlers.Run;
  const run = await connection.call(`${apiCheckService}/${check}/Run`, {}, output);
  printAnswer(run, options.json, () => reportRun(run));
  return run.grade === "failed" ? 1 : 0;
}

export function mute(check: string, options: GlobalOptions & { for?: number }): Promise<number> {
  const until = options.for === undefined ? undefined : inFuture(options.for);
  return change(check, { handler: "Mute", body: until === undefined ? {} : { until } }, options);
}

export function unmute(check: string, options: GlobalOptions): Promise<number> {
  return change(check, { handler: "Unmute", body: {} }, options);
}

export function acknowledge(
  check: string,
  options: GlobalOptions & { by: string },
): Promise<number> {
  return change(check, { handler: "Acknowledge", body: { by: options.by } }, options);
}

type Window = GlobalOptions & { for: number; from?: Date; reason: string };

export function maintain(check: string, options: Window): Promise<number> {
  const { from = new Date(), reason } = options;
  const to = new Date(from.getTime() + options.for).toISOString();
  const body = { from: from.toISOString(), to, reason };
  return change(check, { handler: "Maintenance", body }, options);
}

export function endMaintenance(check: string, options: GlobalOptions): Promise<number> {
  return change(check, { handler: "EndMaintenance", body: {} }, options);
}

type OperatorCall = { handler: OperatorHandlerName; body: object };

async function change(
  check: string,
  { handler, body }: OperatorCall,
  options: GlobalOptions,
): Promise<number> {
  const connection = connect(options);
  const service = await serviceOf(check, connection);
  const { output } = operatorHandlers[handler];
  const state = await connection.call(`${service}/${check}/${handler}`, body, output);
  return printAnswer(state, options.json, reportAlertState);
}

/** Looks the check up in the list of all: API checks and heartbeats are different services. */
async function serviceOf(check: string, { checks }: Connection): Promise<string> {
  const list = await checks("List", {});
  const { kind } = pick("check", check, list.checks);
  return kind === "api" ? apiCheckService : heartbeatService;
}

function inFuture(spanMs: number): string {
  return new Date(Date.now() + spanMs).toISOString();
}

const phases = ["dns", "connect", "tls", "first_byte", "transfer"] as const;

function reportRun(run: RunNowAnswer): string {
  const parts = phases.flatMap((phase) => {
    const ms = run[`${phase}_ms`];
    return ms === null ? [] : [`${phase.replace("_", " ")} ${formatDuration(ms)}`];
  });
  const status = run.status === null ? [] : [`status ${run.status}`];
  const days = run.tls_days_left === null ? [] : [`certificate: ${run.tls_days_left} days left`];
  const took = [formatDuration(run.duration_ms), ...status, ...parts, ...days].join(", ");
  const reason = run.reason === null ? "" : `\n${plain(run.reason)}`;
  return `${run.check} at ${run.location}: ${run.grade} (${took})${reason}`;
}

function describeMute({ muted_until: until, muted_by: by }: AlertState): string {
  if (until === null) return "not muted";
  const end = until.startsWith("9999-") ? "until it is unmuted" : `until ${formatUtc(until)}`;
  return `muted ${end}${byWhom(by)}`;
}

function byWhom(by: string | null): string {
  return by === null ? "" : `, by ${plain(callerWords(by))}`;
}

function reportAlertState(state: AlertState): string {
  const { check, maintenance, alert } = state;
  const windows = maintenance.map(
    ({ from, to, reason, by }) =>
      `  ${formatUtc(from)} to ${formatUtc(to)}: ${plain(reason)}${byWhom(by)}`,
  );
  const by = alert?.acknowledged_by;
  return [
    ...(by == null ? [] : [`${check}: acknowledged by ${plain(callerWords(by))}`]),
    ...(alert === null
      ? []
      : [`alert ${alert.episode} since ${formatUtc(alert.opened_at)}: ${plain(alert.reason)}`]),
    `${check}: ${describeMute(state)}`,
    ...(windows.length > 0 ? ["maintenance:", ...windows] : []),
  ].join("\n");
}
