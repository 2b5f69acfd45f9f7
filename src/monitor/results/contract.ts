/** The readers of checks: states, results, charts and alerts. Times: ISO 8601, UTC. */
import { iface } from "@restatedev/restate-sdk-core";
import { z } from "zod";
import { SuspectView } from "#blame/contract.ts";
import { isClean } from "#kernel/text.ts";
import { causes, grades } from "#monitor/contract.ts";
import { CheckReplay, CheckReplayRequest, checkId } from "#monitor/replay-contract.ts";
import { CheckList, CheckListRequest, Mark } from "./list-contract.ts";

export { CheckList, CheckListRequest, CheckView, checkKinds } from "./list-contract.ts";

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
  /** Changes that may be the cause, the likeliest first; absent: they were not found out in time. */
  changes: z.array(SuspectView).optional(),
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
  .strictObject({
    check: checkId.optional(),
    limit: z.int().min(1).max(1_000).default(50),
    /** Only those that had not ended by then. */
    since: time.optional(),
    /** Only those that began by then. */
    until: time.optional(),
  })
  .meta({ title: "CheckEpisodesRequest", examples: [{ limit: 50 }] });
export type CheckEpisodesRequest = z.infer<typeof CheckEpisodesRequest>;

/** Each list has the newest first, and `limit` entries at most. */
export const CheckEpisodes = z.object({
  episodes: z.array(CheckEpisode),
  suppressions: z.array(CheckSuppression),
});
export type CheckEpisodes = z.infer<typeof CheckEpisodes>;

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
