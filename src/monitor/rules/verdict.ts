/**
 * Decides a run from its results: the new state of the check, and at most one transition. Pure: the same
 * results always lead to the same alerts, on which `vedette checks replay` relies.
 */
import { type AlertTransition, formatEventId, type RolloutMark } from "#alerts/contract.ts";
import { isAhead } from "#kernel/time.ts";
import type {
  CheckResult,
  CheckState,
  CheckStatusName,
  Grade,
  LocationState,
  OpenAlert,
} from "#monitor/contract.ts";

export type Run = {
  /** The tick of the grid. */
  scheduledAtMs: number;
  /** The locations that have to report. */
  expected: readonly string[];
  /** The results so far. */
  results: readonly CheckResult[];
  /** True if no more reports are expected. A run that fails early alerts before it is closed. */
  isClosed: boolean;
  atMs: number;
};

export type VerdictRules = {
  checkId: string;
  /** Failed runs in a row that open an alert. */
  failedRunThreshold: number;
  /** The run fails when this many percent of the locations that reported failed; 0: when any did. */
  failedAtPercent: number;
  /** Muted or in maintenance: no alert opens. */
  isQuiet: boolean;
  /** The rollout in progress, recorded in an alert that opens. */
  rollout: RolloutMark | null;
};

export type Decision<State> = { state: State; transition: AlertTransition | null };

/** The state before the first run. */
export function newCheckState(atMs: number): CheckState {
  return {
    status: "pending",
    sinceMs: atMs,
    decidedRunMs: null,
    failedRuns: 0,
    locations: {},
    episodes: 0,
    alert: null,
    suppressed: null,
    pendingAlert: null,
  };
}

/**
 * Applies a run. An alert opens with the first failed run (or as many in a row as the threshold says) and
 * resolves with the first run that is not failed, even if that is degraded. Call it again with the same run
 * when more results arrive; a run with a final verdict changes nothing more.
 */
export function decide(state: CheckState, run: Run, rules: VerdictRules): Decision<CheckState> {
  if (isDecided(state, run)) return { state, transition: null };
  const reported = { ...state, locations: recordReports(state, run) };
  const verdict = judge(reported, run, rules);
  if (verdict === "undecided") return { state: reported, transition: null };
  const failedRuns = countFailedRuns(state, verdict);
  const decided = {
    ...withStatus(reported, statusOf(verdict), run.atMs),
    ...(run.isClosed && { decidedRunMs: run.scheduledAtMs, failedRuns }),
  };
  if (verdict === "failed" && state.alert === null && !rules.isQuiet) {
    return failedRuns >= rules.failedRunThreshold
      ? open(decided, run, rules)
      : withoutTransition(decided);
  }
  const isOver = verdict === "ok" || verdict === "degraded";
  return isOver && state.alert !== null
    ? resolve(decided, { checkId: rules.checkId, atMs: run.atMs, missedPings: null })
    : withoutTransition(decided);
}

/** A tick long before the last decided one still counts: that one was decided while the clock was ahead. */
function isDecided({ decidedRunMs }: CheckState, { scheduledAtMs }: Run): boolean {
  if (decidedRunMs === null || scheduledAtMs > decidedRunMs) return false;
  return !isAhead(decidedRunMs, scheduledAtMs);
}

/** `held`: nothing failed, but a location that failed before did not report this time. */
type Verdict = Grade | "silent" | "held" | "undecided";

function judge(state: CheckState, run: Run, rules: VerdictRules): Verdict {
  const reports = firstReports(run);
  const failing = reports.filter((result) => result.grade === "failed").length;
  const reach = (count: number, of: number) =>
    count > 0 && count * 100 >= rules.failedAtPercent * of;
  // While some may still report, count all as reporting: then a failed verdict is final.
  const expected = new Set([...run.expected, ...reports.map(({ location }) => location)]).size;
  if (reach(failing, run.isClosed ? reports.length : expected)) return "failed";
  if (!run.isClosed) return "undecided";
  if (reports.length === 0) return "silent";
  const states = Object.values(state.locations);
  const held = states.filter(({ isSilent, grade }) => isSilent && grade === "failed").length;
  if (state.alert !== null && reach(failing + held, reports.length + held)) return "held";
  // Fewer failures than the quorum page nobody, but the run is not ok either.
  return reports.every((result) => result.grade === "ok") ? "ok" : "degraded";
}

function statusOf(verdict: Exclude<Verdict, "undecided">): CheckStatusName {
  return verdict === "held" ? "failed" : verdict;
}

/** A run without reports neither adds a failed run nor ends a row of them. */
function countFailedRuns(state: CheckState, verdict: Verdict): number {
  if (verdict === "failed") return state.failedRuns + 1;
  return verdict === "silent" || verdict === "held" ? state.failedRuns : 0;
}

function recordReports(state: CheckState, run: Run): Record<string, LocationState> {
  const reports = firstReports(run);
  const states: Record<string, LocationState> = {};
  // Drops locations that are no longer expected, so that they hold no alert open.
  for (const location of run.expected) {
    const before = Object.hasOwn(state.locations, location) && state.locations[location];
    if (before) {
      states[location] = { ...before, isSilent: run.isClosed || before.isSilent };
    }
  }
  for (const { location, grade, durationMs, reason, tlsDaysLeft } of reports) {
    const report = { grade, durationMs, reason, tlsDaysLeft };
    states[location] = { ...report, reportedAtMs: run.scheduledAtMs, isSilent: false };
  }
  return states;
}

/** One report per location: a duplicate is ignored. */
function firstReports(run: Run): CheckResult[] {
  const byLocation = new Map<string, CheckResult>();
  for (const result of run.results) {
    if (!byLocation.has(result.location)) byLocation.set(result.location, result);
  }
  return [...byLocation.values()];
}

function withStatus(state: CheckState, status: CheckStatusName, atMs: number): CheckState {
  return status === state.status ? state : { ...state, status, sinceMs: atMs };
}

function withoutTransition(state: CheckState): Decision<CheckState> {
  return { state, transition: null };
}

function open(state: CheckState, run: Run, rules: VerdictRules): Decision<CheckState> {
  const failed = firstReports(run).filter(({ grade }) => grade === "failed");
  return openAlert(state, {
    checkId: rules.checkId,
    atMs: run.atMs,
    reason: describeFailures(failed),
    locations: failed.map(({ location }) => location).sort(),
    rollout: rules.rollout,
  });
}

/** Returns for example `us-east-1: connection refused (and 3 more locations)`. */
function describeFailures(failed: readonly CheckResult[]): string {
  const [first, ...others] = failed;
  const more = others.length === 0 ? "" : ` (and ${others.length} more locations)`;
  return `${first?.location}: ${first?.reason}${more}`;
}

export type AlertHistory = { episodes: number; alert: OpenAlert | null };

type AlertOpening = Pick<OpenAlert, "reason" | "locations" | "rollout"> & {
  checkId: string;
  atMs: number;
};

/** Begins the next episode. */
export function openAlert<State extends AlertHistory>(
  state: State,
  of: AlertOpening,
): Decision<State> {
  const { checkId, atMs, reason, locations, rollout } = of;
  const episode = state.episodes + 1;
  const alert = { episode, openedAtMs: atMs, reason, locations, acknowledged: null, rollout };
  const transition = { ...describeEvent("opened", checkId, alert), atMs };
  return { state: { ...state, episodes: episode, alert }, transition };
}

type AlertEnd = { checkId: string; missedPings: number | null } & Pick<
  AlertTransition,
  "atMs" | "endedBecause"
>;

/** Ends the open episode; without one nothing changes. */
export function resolve<State extends AlertHistory>(
  state: State,
  { checkId, ...ending }: AlertEnd,
): Decision<State> {
  const { alert } = state;
  if (alert === null) return { state, transition: null };
  const transition = { ...describeEvent("resolved", checkId, alert), ...ending };
  return { state: { ...state, alert: null }, transition };
}

/** Without the time at which it happened. */
export function describeEvent(kind: AlertTransition["kind"], checkId: string, alert: OpenAlert) {
  const { episode, openedAtMs, reason, locations, rollout, changes } = alert;
  const eventId = formatEventId({ queue: checkId, episode, joining: 0, kind });
  return {
    kind,
    eventId,
    checkId,
    episode,
    openedAtMs,
    reason,
    locations,
    missedPings: null,
    rollout,
    ...(kind === "opened" && changes !== undefined && { changes }),
  };
}
