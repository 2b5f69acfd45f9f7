/** Commands that read the status and the results of checks. */
import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { printAnswer } from "#cli/print.ts";
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
