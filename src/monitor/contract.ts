/** Definitions, results and states of checks and heartbeats. Times are Unix ms. */
import { z } from "zod";
import { environments, RolloutMark } from "#alerts/contract.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { Suspect } from "#blame/contract.ts";
import { type KindName, ofAnyKind } from "./kinds/contract.ts";
import { causes, grades } from "./kinds/kind.ts";
import { ofEachPhase } from "./kinds/observe.ts";
import { related, type Suppression, suppressionFields } from "./related.ts";

/** Pings are expected at these times. */
const CronSchedule = z.strictObject({
  /** Five fields, or `@daily` and the like; `src/kernel/cron-times.ts` finds its times. */
  cron: z.string(),
  timezone: z.string(),
  /** The rules that the expression follows. Absent: those of Debian's cron. */
  dialect: z.literal("kubernetes").optional(),
  /** The time before the due time from which a ping counts. Absent: 60 s, or a quarter of the gap before it. */
  earlySeconds: z.int().optional(),
});
export type CronSchedule = z.infer<typeof CronSchedule>;

/** The test of a drill: a test alert goes to these channels, which have to accept it within the grace. */
const Drill = z.strictObject({
  /** The heartbeat has a little longer. */
  graceSeconds: z.int(),
  /** The environment whose alert source at the incident service is tested; null: none is. */
  channel: z.enum(environments).nullable(),
  /** Further channels; absent: none. */
  directChannels: z.array(DirectChannel).optional(),
});
export type Drill = z.infer<typeof Drill>;

export const Heartbeat = z.strictObject({
  id: z.string(),
  name: z.string(),
  environment: z.enum(environments),
  /** A description of the job that pings. */
  watches: z.string(),
  /** From one ping to the next. Absent: there is a `schedule`. */
  periodSeconds: z.int().optional(),
  /** Absent: there is a `periodSeconds`. */
  schedule: CronSchedule.optional(),
  graceSeconds: z.int(),
  /** Only of a drill, which pings by itself when its test alert was confirmed. */
  drill: Drill.optional(),
  /** The timed job of this program that pings it. Absent: others ping it, by its URL. */
  job: z.string().optional(),
  /** The settings without which that job is off. Absent: the job is on, or there is none. */
  missingSettings: z.array(z.string()).optional(),
  ...related,
});
export type Heartbeat = z.infer<typeof Heartbeat>;

export { causes, type Grade, grades } from "./kinds/kind.ts";

const RunFields = z.object({
  /** A slug; also the deduplication key of its alerts. */
  id: z.string(),
  name: z.string(),
  environment: z.enum(environments),
  /** Locations of the hosted monitor or one's own; `runsAt` decides what they mean for our own runners. */
  locations: z.array(z.string()),
  frequencySeconds: z.int(),
  degradedAboveMs: z.int(),
  failedAboveMs: z.int(),
  /** Failed runs in a row that open an alert. */
  failedRunThreshold: z.int(),
});

/** The input of a run of a check, at whatever location. */
export const RunnableCheck = ofAnyKind(RunFields, "fields");
export type RunnableCheck = z.infer<typeof RunnableCheck>;

export const ApiCheck = ofAnyKind(RunFields.extend(related).strict(), "fields");
export type ApiCheck = z.infer<typeof ApiCheck>;

export type CheckOf<Kind extends KindName> = Extract<ApiCheck, { kind: Kind }>;

export const AlertChannel = z.strictObject({
  name: z.enum(environments),
  /** The number by which the hosted monitor knows the channel. */
  id: z.int(),
  sendFailure: z.boolean(),
  sendRecovery: z.boolean(),
  sendDegraded: z.boolean(),
});
export type AlertChannel = z.infer<typeof AlertChannel>;

export type Definitions = {
  apiChecks: readonly ApiCheck[];
  heartbeats: readonly Heartbeat[];
  channels: readonly AlertChannel[];
};

/** `isFresh`: throws when they cannot be read now; otherwise the last known ones are answered. */
/** `orKnown`: the last known one is an answer too while the database does not answer within a second. */
export type HowFresh = { isFresh: boolean; orKnown?: boolean };
export type ReadDefinitions = (how?: HowFresh) => Promise<Definitions>;

/** One run of one check at one location. For a heartbeat: one ping, with the location `ping`. */
export const CheckResult = z.object({
  checkId: z.string(),
  location: z.string(),
  /** The tick of the grid; the same for all locations of a run. */
  scheduledAtMs: z.int(),
  startedAtMs: z.int(),
  grade: z.enum(grades),
  cause: z.enum(causes).nullable(),
  durationMs: z.number(),
  phases: z.object(ofEachPhase(z.number().nullable())),
  /** HTTP status; null when there was no answer. */
  status: z.int().nullable(),
  /** Why it is not ok; null when it is. */
  reason: z.string().nullable(),
  /** Whole days until the certificate expires; null without TLS. */
  tlsDaysLeft: z.int().nullable(),
});
export type CheckResult = z.infer<typeof CheckResult>;

/** pending: never ran. late: past its period, within its grace. silent: no location reported. None is shown as ok. */
export const checkStatuses = [
  "pending",
  "ok",
  "degraded",
  "failed",
  "late",
  "silent",
  "paused",
] as const;
export type CheckStatusName = (typeof checkStatuses)[number];

export const OpenAlert = z.object({
  /** Counts the alerts of this check from 1. */
  episode: z.int(),
  openedAtMs: z.int(),
  reason: z.string(),
  /** The locations where the check failed; empty for a heartbeat. */
  locations: z.array(z.string()),
  acknowledged: z.object({ by: z.string(), atMs: z.int() }).nullable(),
  rollout: RolloutMark.nullable(),
  /** Changes that may be the cause, the likeliest first; absent: they were not found out in time. */
  changes: z.array(Suspect).optional(),
});
export type OpenAlert = z.infer<typeof OpenAlert>;

/** The times when a check may not open an alert; an alert that is open still resolves. */
export const Quiet = z.object({
  /** null: not muted. */
  mutedUntilMs: z.int().nullable(),
  /** The person who muted it; absent: nobody did. */
  mutedBy: z.string().optional(),
  maintenance: z.array(
    z.object({
      fromMs: z.int(),
      toMs: z.int(),
      reason: z.string(),
      /** The person who added it. */
      by: z.string(),
    }),
  ),
});
export type Quiet = z.infer<typeof Quiet>;

const LocationState = z.object({
  grade: z.enum(grades),
  /** The tick of its last report. */
  reportedAtMs: z.int(),
  durationMs: z.number(),
  reason: z.string().nullable(),
  tlsDaysLeft: z.int().nullable(),
  /** True if it did not report the last run: then `grade` is that of an earlier run. */
  isSilent: z.boolean(),
});
export type LocationState = z.infer<typeof LocationState>;

/** The durable state of an API check between runs. */
export const CheckState = z.object({
  status: z.enum(checkStatuses),
  /** The time of the last change of `status`. */
  sinceMs: z.int(),
  /** The tick of the last run with a final verdict; null before the first. */
  decidedRunMs: z.int().nullable(),
  /** Failed runs in a row, up to the last decided one. */
  failedRuns: z.int(),
  locations: z.record(z.string(), LocationState),
  /** Alerts opened so far. */
  episodes: z.int(),
  alert: OpenAlert.nullable(),
  ...suppressionFields,
});
export type CheckState = z.infer<typeof CheckState>;

/** The durable state of a heartbeat. */
export const HeartbeatState = z.object({
  status: z.enum(checkStatuses),
  sinceMs: z.int(),
  createdAtMs: z.int(),
  /** Until then nothing is owed: the cron's time of the last ping, or a change of schedule. Absent: neither was. */
  settledMs: z.int().optional(),
  /** The last successful ping; null before the first. */
  lastPingAtMs: z.int().nullable(),
  /** A run that began and has not ended; null otherwise. */
  startedAtMs: z.int().nullable(),
  /** The duration of the last run with a `/start`; null: there was none. */
  lastDurationMs: z.int().nullable(),
  /** The hold: no alert before `untilMs`, because the monitor was away and may have missed a ping. */
  held: z
    .object({
      untilMs: z.int(),
      awayFromMs: z.int(),
      awayToMs: z.int(),
      /** The number of holds in a row. */
      times: z.int(),
    })
    .nullable(),
  episodes: z.int(),
  alert: OpenAlert.nullable(),
  ...suppressionFields,
});
export type HeartbeatState = z.infer<typeof HeartbeatState>;

/** success: a plain ping or exit code 0. start: `/start`. fail: `/fail` or another exit code. */
export type Ping =
  | { kind: "success"; atMs: number }
  | { kind: "start"; atMs: number }
  /** `reason`: of a drill. */
  | { kind: "fail"; atMs: number; exitCode: number | null; reason?: string };

/** How a check stands, as every reader shows it: `results/snapshots.ts` makes it. */
export type CheckSnapshot = {
  checkId: string;
  kind: "api" | "heartbeat";
  status: CheckStatusName;
  /** null: a heartbeat that nobody pings yet. */
  sinceMs: number | null;
  /** The tick of the last decided run, or the last successful ping; null before the first. */
  lastAtMs: number | null;
  /** API check: the slowest location of the last run. Heartbeat: the job's last run. */
  lastDurationMs: number | null;
  /** Heartbeat: the time at which it alerts unless it pings. null while an alert is open, and for API checks. */
  dueAtMs: number | null;
  /** Heartbeat by cron: the time for which a ping has to come. */
  expectedAtMs?: number;
  alert: OpenAlert | null;
  suppressed: Suppression | null;
  quiet: Quiet;
  locations: Record<string, LocationState>;
};
