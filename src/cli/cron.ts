import { type CronJobName, type CronStatus, cronJobs } from "#cron/contract.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords } from "#kernel/words.ts";
import { connect } from "./connection.ts";
import type { GlobalOptions } from "./options.ts";
import { printAnswer } from "./print.ts";
import { createTable, plain } from "./table.ts";

/** Lists the timed jobs: when each runs next and how it last ended. */
export async function listJobs(options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const jobs = await Promise.all(cronJobs.map((job) => connection.cronStatus(job)));
  return printAnswer({ jobs }, options.json, () => reportJobs(jobs));
}

/** Runs a job now and waits for its end. Exit code 0: it succeeded; 1: it failed. */
export async function runJob(job: CronJobName, options: GlobalOptions): Promise<number> {
  const run = await connect(options).cronRun(job);
  printAnswer(run, options.json, () => `${run.outcome}: ${plain(run.summary)}`);
  return run.outcome === "succeeded" ? 0 : 1;
}

function reportJobs(jobs: readonly CronStatus[]): string {
  const table = createTable(["job", "schedule", "next", "last run", "by", "outcome", ""]);
  for (const { job, schedule, last_run, ...status } of jobs) {
    const { ended_at, by, outcome = "", summary = "" } = last_run ?? {};
    const last = [formatUtc(ended_at), starterOf(by), outcome, plain(summary)];
    table.push([job, schedule, describeNext(status), ...last]);
  }
  return String(table);
}

function describeNext({
  next_at,
  running_since,
  running_by,
}: Pick<CronStatus, "next_at" | "running_since" | "running_by">): string {
  if (running_since === undefined) return formatUtc(next_at);
  return `running, by ${starterOf(running_by)}`;
}

/** Empty: it has never run. */
function starterOf(by: string | null | undefined): string {
  return by === null ? "timer" : plain(callerWords(by ?? ""));
}
