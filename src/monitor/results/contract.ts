/** The readers of checks: states, results, charts and alerts. Times: ISO 8601, UTC. */
import { iface } from "@restatedev/restate-sdk-core";
import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { isClean } from "#kernel/text.ts";
import { causes, checkStatuses, grades } from "#monitor/contract.ts";
import { Description, kindNames } from "#monitor/kinds/contract.ts";
import { CheckReplay, CheckReplayRequest, checkId } from "#monitor/replay-contract.ts";

const Mark = z.object({
  rollout_id: z.string(),
  fleet: z.string(),
  image: z.string(),
  wave: z.int(),
  /** Absent: it was in progress. */
  ended_at: z.string().optional(),
});

export const CheckEpisode = z.object({
  check_id: z.string(),
  /** Counts the alerts of the check from 1. */
  episode: z.int(),
  opened_at: z.string(),
  /** null: still open. */
  resolved_at: z.string().nullable(),
  reason: z.string(),
  locations: z.array(z.string()),
  missed_pings: z.int().nullable(),
  /** The rollout in progress when it opened, or that had ended within the hour before. */
  rollout: Mark.nullable(),
  opened_delivered_at: z.string().nullable(),
  resolved_delivered_at: z.string().nullable(),
});
export type CheckEpisode = z.infer<typeof CheckEpisode>;

/** A time in which the check failed and alerted nobody, because something that it depends on failed. */
export const CheckSuppression = z.object({
  check_id: z.string(),
  began_at: z.string(),
  /** null: it lasts. */
  ended_at: z.string().nullable(),
  /** The check or heartbeat that failed. */
  suppressed_by: z.string(),
  /** The reason that the alert would have had. */
  reason: z.string(),
});
export type CheckSuppression = z.infer<typeof CheckSuppression>;

/** A piece of a strip; `grade` is the worst in it, null without results. */
const StripPiece = z.object({
  starts_at: z.string(),
  grade: z.enum(grades).nullable(),
  runs: z.int(),
  failed_runs: z.int(),
});

export const CheckView = z.object({
  id: z.string(),
  kind: z.enum(["api", "heartbeat"]),
  name: z.string(),
  environment: z.enum(environments),
  /** The environment whose alert source at the incident service is notified; null: none is. */
  channel: z.enum(environments).nullable(),
  /** Whom it notifies: `channel`, and the ids of further channels. */
  channels: z.array(z.string()),
  /** Why its alerts reach nobody. Absent: they leave this program. */
  reaches_nobody: z.string().optional(),
  status: z.enum(checkStatuses),
  /** The settings without which an API check, or the job of a heartbeat, is off. Absent: a heartbeat that is not off. */
  missing_settings: z.array(z.string()).optional(),
  since: z.string().nullable(),
  /** While this one fails, it alerts nobody. */
  suppressed_by: z.string().nullable(),
  /** Why it is not ok, if known. */
  reason: z.string().nullable(),
  /** The last run or ping. */
  last_at: z.string().nullable(),
  last_duration_ms: z.number().nullable(),
  /** The deadline of a heartbeat that has not failed. */
  due_at: z.string().nullable(),
  alert: z
    .object({
      episode: z.int(),
      opened_at: z.string(),
      acknowledged_by: z.string().nullable(),
      rollout: Mark.nullable(),
    })
    .nullable(),
  /** The end of mute or maintenance; null: an alert may open. */
  quiet_until: z.string().nullable(),
  /** The operator who muted it, or added the window; null: nobody. */
  quiet_by: z.string().nullable(),
  /** The locations of the last runs; a silent one has not reported the last run. */
  locations: z.array(
    z.object({
      location: z.string(),
      status: z.enum([...grades, "silent"]),
      reported_at: z.string(),
      duration_ms: z.number(),
      reason: z.string().nullable(),
    }),
  ),
  /** The fewest days left of the certificates seen. */
  tls_days_left: z.int().nullable(),
  rule: z.discriminatedUnion("kind", [
    z.object({
      kind: z.literal("api"),
      check_kind: z.enum(kindNames),
      ...Description.shape,
      frequency_seconds: z.int(),
      degraded_above_ms: z.int(),
      failed_above_ms: z.int(),
      /** The number of its locations at the hosted monitor; our own are in `locations`. */
      hosted_locations: z.int(),
    }),
    z.object({
      kind: z.literal("heartbeat"),
      watches: z.string(),
      period_seconds: z.int(),
      cron: z.string().optional(),
      grace_seconds: z.int(),
      /** Only of a drill: what it tests, and how long the channels have. */
      drill: z.object({ channels: z.array(z.string()), grace_seconds: z.int() }).optional(),
    }),
  ]),
  /** Percent, last 24 hours: of runs that did not fail; for a heartbeat, of time without an alert. */
  uptime_24h: z.number().nullable(),
  /** The last 24 hours in pieces of 15 minutes, oldest first. */
  /** Empty: there are more than 1,000 checks. */
  strip: z.array(StripPiece),
});
export type CheckView = z.infer<typeof CheckView>;

export const CheckList = z.object({
  taken_at: z.string(),
  /** Why no alert of any check leaves this program. Absent: some do. */
  reaches_nobody: z.string().optional(),
  checks: z.array(CheckView),
});
export type CheckList = z.infer<typeof CheckList>;

const phaseFields = {
  dns_ms: z.number().nullable(),
  connect_ms: z.number().nullable(),
  tls_ms: z.number().nullable(),
  first_byte_ms: z.number().nullable(),
  transfer_ms: z.number().nullable(),
};

export const CheckResultView = z.object({
  scheduled_at: z.string(),
  started_at: z.string(),
  location: z.string(),
  grade: z.enum(grades),
  cause: z.enum(causes).nullable(),
  duration_ms: z.number(),
  ...phaseFields,
  status: z.int().nullable(),
  reason: z.string().nullable(),
  tls_days_left: z.int().nullable(),
});
export type CheckResultView = z.infer<typeof CheckResultView>;

const time = z.iso.datetime().regex(/^(?!0000).{1,40}$/, "no year 0, at most 40 characters");

/** Refuses other characters: no location has them, and Postgres does not store all of them. */
const location = z
  .string()
  .max(100)
  .refine((text) => isClean(text, 100), "has characters that no location's name has");

export const CheckHistoryRequest = z
  .strictObject({
    check: checkId,
    limit: z.int().min(1).max(1_000).default(50),
    /** `next` of the page before. */
    before: z.string().max(200).optional(),
    location: location.optional(),
    grade: z.enum(grades).optional(),
    since: time.optional(),
  })
  .meta({ title: "CheckHistoryRequest", examples: [{ check: "verify-key", limit: 50 }] });
export type CheckHistoryRequest = z.infer<typeof CheckHistoryRequest>;
/** Single results, newest first. */
export const CheckHistory = z.object({
  results: z.array(CheckResultView),
  /** The `before` of the next page; absent on the last page. */
  next: z.string().optional(),
});
export type CheckHistory = z.infer<typeof CheckHistory>;

export const CheckChartRequest = z
  .strictObject({
    check: checkId,
    /** The span to show. Up to 48 hours by minute, as long as minutes are kept; more by hour. */
    hours: z.int().min(1).max(9_600).default(24),
    /** The end of the span; absent: now. */
    until: time.optional(),
    /** Absent: all locations together. */
    location: location.optional(),
  })
  .meta({ title: "CheckChartRequest", examples: [{ check: "verify-key", hours: 24 }] });
export type CheckChartRequest = z.infer<typeof CheckChartRequest>;

/** Response times, oldest first; phases are means. A bucket without results is left out. */
export const CheckChart = z.object({
  bucket_seconds: z.int(),
  points: z.array(
    z.object({
      starts_at: z.string(),
      results: z.int(),
      degraded: z.int(),
      failed: z.int(),
      p50_ms: z.number(),
      p95_ms: z.number(),
      p99_ms: z.number(),
      max_ms: z.number(),
      ...phaseFields,
    }),
  ),
});
export type CheckChart = z.infer<typeof CheckChart>;

export const CheckSummaryRequest = z
  .strictObject({
    check: checkId,
    /** The span of the summary, up to now. */
    hours: z.int().min(1).max(9_600).default(24),
  })
  .meta({ title: "CheckSummaryRequest", examples: [{ check: "verify-key", hours: 24 }] });
export type CheckSummaryRequest = z.infer<typeof CheckSummaryRequest>;

const Sum = z.object({
  results: z.int(),
  degraded: z.int(),
  failed: z.int(),
  p50_ms: z.number(),
  p95_ms: z.number(),
  p99_ms: z.number(),
  max_ms: z.number(),
  ...phaseFields,
});

/** Sums of single results within their retention: exact percentiles, phases are means. */
export const CheckSummary = z.object({
  check: z.string(),
  since: z.string(),
  /** The oldest result that counts; null without results. */
  first_at: z.string().nullable(),
  runs: z.int(),
  failed_runs: z.int(),
  /** Ticks that were not run. */
  missed_ticks: z.int(),
  /** All locations together; null without results. */
  total: Sum.nullable(),
  locations: z.array(Sum.extend({ location: z.string() })),
});
export type CheckSummary = z.infer<typeof CheckSummary>;

export const CheckEpisodesRequest = z
  .strictObject({ check: checkId.optional(), limit: z.int().min(1).max(1_000).default(50) })
  .meta({ title: "CheckEpisodesRequest", examples: [{ limit: 50 }] });
export type CheckEpisodesRequest = z.infer<typeof CheckEpisodesRequest>;

/** Each list has the newest first, and `limit` entries at most. */
export const CheckEpisodes = z.object({
  episodes: z.array(CheckEpisode),
  suppressions: z.array(CheckSuppression),
});
export type CheckEpisodes = z.infer<typeof CheckEpisodes>;

const CheckListRequest = z.strictObject({}).meta({ title: "CheckListRequest", examples: [{}] });

/** The readers, as `control`, the console and the command line call them. */
export const checkReaders = {
  List: { input: CheckListRequest, output: CheckList },
  History: { input: CheckHistoryRequest, output: CheckHistory },
  Chart: { input: CheckChartRequest, output: CheckChart },
  Summary: { input: CheckSummaryRequest, output: CheckSummary },
  /** Alerts, and the times in which one was suppressed. */
  Episodes: { input: CheckEpisodesRequest, output: CheckEpisodes },
  Replay: { input: CheckReplayRequest, output: CheckReplay },
} as const;

/** The error codes of the readers, besides the common ones. */
export type CheckProblemCode = "unknown_check" | "not_replayable";

export const checkReads = iface.service("vedette.v1.CheckReads", {
  List: iface.schemas(checkReaders.List),
  History: iface.schemas(checkReaders.History),
  Chart: iface.schemas(checkReaders.Chart),
  Summary: iface.schemas(checkReaders.Summary),
  Episodes: iface.schemas(checkReaders.Episodes),
  Replay: iface.schemas(checkReaders.Replay),
});
