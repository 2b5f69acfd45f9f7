/** The timed jobs, as an operator sees and calls them. */
import { z } from "zod";

/** The keys of the service; also the names of the tables below `cron` in the settings, with `_`. */
export const cronJobs = [
  "key-refill",
  "count-keys",
  "quota-check",
  "key-last-used-sync",
  "certificate-renewal",
  "alertmanager-drift",
  "alert-routes-drift",
  "fleet-drift",
] as const;
export type CronJobName = (typeof cronJobs)[number];

export const cronServiceName = "vedette.v1.CronService";

const CronRequest = z.strictObject({}).meta({ title: "Empty request" });

/** The outcome of a run. `lost`: it was killed, and its progress is unknown. */
const CronOutcome = z.enum(["succeeded", "failed", "lost"]);

export const CronRun = z.object({
  run_id: z.string(),
  outcome: CronOutcome,
  /** One line: what was done, or why it failed. */
  summary: z.string(),
  /** The operator who started it; null: its timer did. */
  by: z.string().nullable(),
  started_at: z.iso.datetime(),
  ended_at: z.iso.datetime(),
});
export type CronRun = z.infer<typeof CronRun>;

export const CronStatus = z.object({
  job: z.enum(cronJobs),
  /** The schedule in words, UTC. */
  schedule: z.string(),
  /** Absent when the job is off. */
  next_at: z.iso.datetime().optional(),
  running_since: z.iso.datetime().optional(),
  running_by: z.string().nullable().optional(),
  last_run: CronRun.optional(),
  last_success_at: z.iso.datetime().optional(),
});
export type CronStatus = z.infer<typeof CronStatus>;

/** The handlers that control forwards. `Run` answers when the run has ended. */
export const cronHandlers = {
  Status: { input: CronRequest, output: CronStatus },
  Run: { input: CronRequest, output: CronRun },
} as const;

export type CronProblemCode = "unknown_job" | "job_off" | "already_running";
