import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { print, printJson } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { type CronJobName, type CronStatus, cronJobs } from "#cron/contract.ts";

/** Lists the timed jobs: when each runs next and how it last ended. */
export async function listJobs(options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const jobs = await Promise.all(cronJobs.map((job) => connection.cronStatus(job)));
  if (options.json) printJson({ jobs });
  else print(reportJobs(jobs));
  return 0;
}

/** Runs a job now and waits for its end. Exit code 0: it succeeded; 1: it failed. */
export async function runJob(job: CronJobName, options: GlobalOptions): Promise<number> {
  const run = await connect(options).cronRun(job);
  if (options.json) printJson(run);
  else print(`${run.outcome}: ${plain(run.summary)}`);
  return run.outcome === "succeeded" ? 0 : 1;
}

function reportJobs(jobs: readonly CronStatus[]): string {
  const table = createTable(["job", "schedule", "next", "last run", "outcome", ""]);
  for (const { job, schedule, next_at, running_since, last_run } of jobs) {
    const next = running_since === undefined ? shortTime(next_at) : "running";
    const { outcome = "", summary = "" } = last_run ?? {};
    table.push([job, schedule, next, shortTime(last_run?.ended_at), outcome, plain(summary)]);
  }
  return String(table);
}

function shortTime(iso = ""): string {
  return iso.replace("T", " ").slice(0, 16);
}
