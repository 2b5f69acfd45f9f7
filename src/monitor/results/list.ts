/** Lists all checks with their status, from definitions, snapshots and the last 24 hours. Pure. */
import type { RolloutMark } from "#alerts/contract.ts";
import { viewSuspect } from "#blame/contract.ts";
import { toIso } from "#kernel/time.ts";
import type {
  ApiCheck,
  CheckSnapshot,
  CheckStatusName,
  Definitions,
  Heartbeat,
} from "#monitor/contract.ts";
import { kindOf } from "#monitor/kinds/contract.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import { channelNames } from "#monitor/related.ts";
import { statusAt } from "#monitor/rules/deadline.ts";
import { owedAtMs } from "#monitor/rules/occurrences.ts";
import { isJobOff } from "#monitor/rules/own-jobs.ts";
import { quietBy, quietUntilMs } from "#monitor/rules/quiet.ts";
import type { CheckEpisode, CheckList, CheckView } from "./contract.ts";
import { type Day, emptyStrip, type Strip } from "./uptime.ts";

/** An API check without a run for so many periods is shown as silent. */
const periodsToSilence = 3;

/** Why the alerts of a check reach nobody; undefined: they leave this program. */
export type WhyNobody = (check: Definition) => string | undefined;

type Sources = {
  /** The listed ones. */
  definitions: Pick<Definitions, "apiChecks" | "heartbeats">;
  /** Absent: all are listed. */
  all?: Pick<Definitions, "apiChecks" | "heartbeats">;
  whyOff: WhyOff;
  whyNobody?: WhyNobody;
  snapshots: ReadonlyMap<string, CheckSnapshot>;
  days: ReadonlyMap<string, Day>;
  alertTime: ReadonlyMap<string, number>;
  nowMs: number;
};

/** Each takes 8 kB, and Restate repeats for ever what has more than 32 MB in all. */
const mostStrips = 1_000;

export function hasStrips({ apiChecks, heartbeats }: Sources["definitions"]): boolean {
  return apiChecks.length + heartbeats.length <= mostStrips;
}

type Viewed = Sources & {
  /** The strip of a check without results; undefined: none has a strip. */
  blank: Strip | undefined;
};

export function listChecks(sources: Sources): CheckList {
  const { apiChecks, heartbeats } = sources.definitions;
  const blank = hasStrips(sources.definitions) ? emptyStrip(sources.nowMs) : undefined;
  const from = { ...sources, blank };
  const nobody = from.whyNobody && nobodyOf(from.all ?? from.definitions, from.whyNobody);
  const checks = [
    ...apiChecks.map((check) => viewApiCheck(check, from)),
    ...heartbeats.map((heartbeat) => viewHeartbeat(heartbeat, from)),
  ];
  return {
    taken_at: toIso(from.nowMs),
    ...(nobody !== undefined && { reaches_nobody: nobody }),
    checks,
  };
}

/** Why no alert of any check leaves this program: the reason of one with a channel, if one has; undefined: some do. */
export function nobodyOf(
  { apiChecks, heartbeats }: Sources["definitions"],
  whyNobody: WhyNobody,
): string | undefined {
  const all = [...apiChecks, ...heartbeats];
  if (all.some((one) => whyNobody(one) === undefined)) return undefined;
  const first = all.find((one) => channelNames(one).length > 0) ?? all[0];
  return first && whyNobody(first);
}

function viewApiCheck(check: ApiCheck, from: Viewed): CheckView {
  const snapshot = from.snapshots.get(check.id);
  return {
    ...viewCommon(check, from),
    kind: "api",
    status: statusOfApiCheck(check, snapshot, from.nowMs),
    missing_settings: from.whyOff(check),
    rule: {
      kind: "api",
      ...{ check_kind: check.kind, ...kindOf(check).describe(check) },
      frequency_seconds: check.frequencySeconds,
      degraded_above_ms: check.degradedAboveMs,
      failed_above_ms: check.failedAboveMs,
      hosted_locations: check.locations.length,
    },
    uptime_24h: from.days.get(check.id)?.runUptime ?? null,
  };
}

function viewHeartbeat(heartbeat: Heartbeat, from: Viewed): CheckView {
  const snapshot = from.snapshots.get(heartbeat.id);
  const common = viewCommon(heartbeat, from);
  const status = statusOfHeartbeat(heartbeat, snapshot, from.nowMs);
  return {
    ...common,
    kind: "heartbeat",
    status,
    reason: common.reason ?? (status === "pending" ? whyWaiting(heartbeat, snapshot) : null),
    ...(status === "paused" && { missing_settings: heartbeat.missingSettings ?? [] }),
    rule: {
      kind: "heartbeat",
      watches: heartbeat.watches,
      ...viewSchedule(heartbeat, from.nowMs),
      grace_seconds: heartbeat.graceSeconds,
      ...viewDrill(heartbeat),
    },
    uptime_24h: snapshot?.lastAtMs == null ? null : (from.alertTime.get(heartbeat.id) ?? 100),
  };
}

/** Why no ping has come yet; null: one has, or its job is off. */
function whyWaiting(
  { id, job, drill }: Heartbeat,
  snapshot: CheckSnapshot | undefined,
): string | null {
  if (drill !== undefined) return "waits for the first run of the drill";
  if (job !== undefined) return `waits for the first run of the job ${job}`;
  return isExpected(snapshot) ? null : notSetUp(id);
}

/** Otherwise it has no deadline, and never alerts: nobody can ping it. */
function isExpected(snapshot: CheckSnapshot | undefined): snapshot is CheckSnapshot {
  return snapshot !== undefined && snapshot.status !== "paused";
}

function notSetUp(id: string): string {
  return `not set up: \`vedette heartbeats register ${id}\` makes its ping URL`;
}

function viewDrill({ drill }: Heartbeat) {
  if (drill === undefined) return {};
  return { drill: { channels: channelNames(drill), grace_seconds: drill.graceSeconds } };
}

/** From one ping to the next; of a cron, of the two times to come. */
function viewSchedule({ periodSeconds = 0, schedule }: Heartbeat, nowMs: number) {
  if (schedule === undefined) return { period_seconds: periodSeconds };
  const { cron, timezone, dialect } = schedule;
  const nextMs = owedAtMs(schedule, nowMs);
  const period_seconds = Math.round((owedAtMs(schedule, nextMs) - nextMs) / 1_000);
  return {
    period_seconds,
    cron: `${cron} ${timezone}${dialect === undefined ? "" : " (Kubernetes)"}`,
  };
}

/** The status of the last run; silent if that is too long ago. */
function statusOfApiCheck(
  { frequencySeconds }: Pick<ApiCheck, "frequencySeconds">,
  snapshot: CheckSnapshot | undefined,
  nowMs: number,
): CheckStatusName {
  if (snapshot === undefined) return "pending";
  const { status, lastAtMs, sinceMs } = snapshot;
  // The absolute value: a last run in the future was made while the clock was wrong, and is stale too.
  const awayMs = Math.abs(nowMs - (lastAtMs ?? sinceMs ?? nowMs));
  const isStale = awayMs > periodsToSilence * frequencySeconds * 1_000;
  return isStale && (status === "ok" || status === "degraded") ? "silent" : status;
}

/** Silent if its deadline has passed without an alert: the monitor does not run. */
function statusOfHeartbeat(
  heartbeat: Heartbeat,
  snapshot: CheckSnapshot | undefined,
  nowMs: number,
): CheckStatusName {
  if (!isExpected(snapshot)) return isJobOff(heartbeat) ? "paused" : "pending";
  const { lastAtMs, sinceMs, dueAtMs } = snapshot;
  if (dueAtMs === null) return snapshot.status;
  const heardAtMs = lastAtMs ?? sinceMs ?? nowMs;
  const status = statusAt(heartbeat, { ...snapshot, heardAtMs }, nowMs);
  const isDecided = status === "failed" || status === "paused";
  return !isDecided && nowMs > dueAtMs + overdueSlackMs ? "silent" : status;
}

/** The time after a deadline by which the alert has to be open. */
const overdueSlackMs = 60_000;

type Definition = Pick<
  ApiCheck | Heartbeat,
  "id" | "name" | "environment" | "channel" | "directChannels"
>;

function viewCommon(definition: Definition, from: Viewed) {
  const { id, name, environment, channel } = definition;
  const snapshot = from.snapshots.get(id);
  const nobody = from.whyNobody?.(definition);
  return {
    id,
    name,
    environment,
    channel,
    channels: channelNames(definition),
    ...(nobody !== undefined && { reaches_nobody: nobody }),
    ...viewSnapshot(snapshot, from.nowMs),
    strip: from.blank === undefined ? [] : (from.days.get(id)?.strip ?? from.blank),
  };
}

function viewSnapshot(snapshot: CheckSnapshot | undefined, nowMs: number) {
  const states = Object.entries(snapshot?.locations ?? {});
  const locations = states.map(([location, state]) => ({
    location,
    status: state.isSilent ? ("silent" as const) : state.grade,
    reported_at: toIso(state.reportedAtMs),
    duration_ms: state.durationMs,
    reason: state.reason,
  }));
  const tlsDays = states.flatMap(([, { tlsDaysLeft }]) =>
    tlsDaysLeft === null ? [] : [tlsDaysLeft],
  );
  return {
    since: toIsoOrNull(snapshot?.sinceMs),
    suppressed_by: (snapshot?.status === "failed" && snapshot.suppressed?.by) || null,
    reason:
      snapshot?.alert?.reason ?? locations.find(({ reason }) => reason !== null)?.reason ?? null,
    last_at: toIsoOrNull(snapshot?.lastAtMs),
    last_duration_ms: snapshot?.lastDurationMs ?? null,
    due_at: toIsoOrNull(snapshot?.dueAtMs),
    alert: viewAlert(snapshot?.alert ?? null),
    quiet_until: toIsoOrNull(snapshot && quietUntilMs(snapshot.quiet, nowMs)),
    quiet_by: snapshot === undefined ? null : quietBy(snapshot.quiet, nowMs),
    locations: locations.sort((a, b) => a.location.localeCompare(b.location)),
    tls_days_left: tlsDays.length === 0 ? null : Math.min(...tlsDays),
  };
}

function viewAlert(alert: CheckSnapshot["alert"]): CheckView["alert"] {
  if (alert === null) return null;
  return {
    episode: alert.episode,
    opened_at: toIso(alert.openedAtMs),
    acknowledged_by: alert.acknowledged?.by ?? null,
    rollout: viewRollout(alert.rollout),
    ...(alert.changes !== undefined && { changes: alert.changes.map(viewSuspect) }),
  };
}

export function viewRollout(mark: RolloutMark | null): CheckEpisode["rollout"] {
  if (mark === null) return null;
  const { rolloutId, endedAtMs, ...rest } = mark;
  const ended = endedAtMs === undefined ? {} : { ended_at: toIso(endedAtMs) };
  return { rollout_id: rolloutId, ...rest, ...ended };
}

function toIsoOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : toIso(ms);
}
