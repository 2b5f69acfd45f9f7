/** Recorded runs, judged again by other rules. */
import { z } from "zod";
import { isClean } from "#kernel/text.ts";

/** The id of a check or heartbeat in a request. */
export const checkId = z
  .string()
  .min(1)
  .max(200)
  .refine((id) => isClean(id, 200), "has characters that no id has");

export const CheckReplayRequest = z
  .strictObject({
    check: checkId,
    /** The span of the replay, up to now. */
    hours: z.int().min(1).max(9_600).default(168),
    /** Absent ones are as defined. */
    degraded_above_ms: z.int().min(1).optional(),
    failed_above_ms: z.int().min(1).optional(),
    failed_at_percent: z.int().min(0).max(100).optional(),
    failed_run_threshold: z.int().min(1).max(100).optional(),
  })
  .meta({ title: "CheckReplayRequest", examples: [{ check: "verify-key", failed_above_ms: 900 }] });
export type CheckReplayRequest = z.infer<typeof CheckReplayRequest>;

const ReplayOutcome = z.object({
  degraded_above_ms: z.int(),
  failed_above_ms: z.int(),
  failed_at_percent: z.int(),
  failed_run_threshold: z.int(),
  /** Results by grade. */
  ok: z.int(),
  degraded: z.int(),
  failed: z.int(),
  alerts: z.int(),
  alerting_seconds: z.int(),
  /** The last 100 at most, oldest first. */
  episodes: z.array(
    z.object({
      opened_at: z.string(),
      resolved_at: z.string().nullable(),
      reason: z.string(),
      locations: z.array(z.string()),
    }),
  ),
});

/** The alerts that there would have been, under the rules of the request and under those defined. */
export const CheckReplay = z.object({
  check: z.string(),
  since: z.string(),
  runs: z.int(),
  as_defined: ReplayOutcome,
  as_asked: ReplayOutcome,
});
export type CheckReplay = z.infer<typeof CheckReplay>;
