/** Runs one job to its end; after success, pings its heartbeats. */
import { implement, type ObjectContext, TerminalError } from "@restatedev/restate-sdk";
import { notices } from "#alerts/contract.ts";
import { asTerminalError } from "#kernel/restate.ts";
import type { CronJobName, CronRun } from "./contract.ts";
import { cronObject, cronRuns, type RunOrder } from "./internal.ts";
import type { CronMetrics, PingHeartbeat } from "./metrics.ts";
import { type CronObjectParts, createCronObject, type Jobs } from "./object.ts";
import type { CallTarget, Job, JobRun } from "./schedule.ts";

type JobRunParts = {
  jobs: Jobs;
  /** undefined: the job has no heartbeat. */
  heartbeatUrlOf: (job: CronJobName) => string | undefined;
  pingHeartbeat: PingHeartbeat;
  /** The call by which the monitor learns of a good run. */
  successCall: (job: CronJobName, atMs: number) => ServiceCall;
  metrics: CronMetrics;
};

type ServiceCall = Omit<CallTarget, "key">;

function createJobRunService(parts: JobRunParts) {
  return implement(cronRuns, {
    handlers: { run: (ctx, order) => run(ctx, order, parts) },
    options: {
      ingressPrivate: true,
      // Long enough for callers that attach. Not longer, since some jobs leave a journal every minute.
      journalRetention: { minutes: 10 },
      asTerminalError,
    },
  });
}

async function run(ctx: ObjectContext, order: RunOrder, parts: JobRunParts): Promise<CronRun> {
  const name = ctx.key as CronJobName;
  const job = parts.jobs[name];
  if (job === undefined) throw new TerminalError(`${name} is off by the settings`);
  const end = await attempt(ctx, order, job);
  const result: CronRun = {
    run_id: order.runId,
    by: order.by,
    ...end,
    started_at: new Date(order.startedAtMs).toISOString(),
    ended_at: new Date(await ctx.date.now()).toISOString(),
  };
  if (end.outcome === "succeeded") {
    send(ctx, parts.successCall(name, Date.parse(result.ended_at)));
    await ping(ctx, name, parts);
  }
  await report(ctx, name, { result, metrics: parts.metrics });
  ctx.sendClient(cronObject, name).finished(result);
  return result;
}

type End = Pick<CronRun, "outcome" | "summary">;

async function attempt(ctx: ObjectContext, order: RunOrder, job: Job): Promise<End> {
  try {
    return { outcome: "succeeded", summary: await job.run(jobRun(ctx, order, job)) };
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return { outcome: "failed", summary: error.message };
  }
}

function jobRun(ctx: ObjectContext, { runId, startedAtMs }: RunOrder, job: Job): JobRun {
  const options = { maxRetryDuration: job.retryForMs, maxRetryInterval: 30_000 };
  return {
    runId,
    nowMs: startedAtMs,
    step: async (name, action) => await ctx.run(name, action, options),
    call: (target) => call(ctx, target),
    recall: async (key) => await ctx.get(key),
    remember: (key, value) => ctx.set(key, value),
    post: (topic, message) => {
      ctx.sendClient(notices, topic).post(message);
    },
  };
}

async function call<Answer>(
  ctx: ObjectContext,
  { service, key, handler, request }: CallTarget,
): Promise<Answer> {
  const parameter = Buffer.from(JSON.stringify(request));
  const answer = await ctx.genericCall({ service, key, method: handler, parameter });
  return JSON.parse(Buffer.from(answer).toString()) as Answer;
}

/** Does not wait, so that a run never depends on the monitor. */
function send(ctx: ObjectContext, { service, handler, request }: ServiceCall): void {
  const parameter = Buffer.from(JSON.stringify(request));
  ctx.genericSend({ service, method: handler, parameter });
}

/** Pings the URL of the settings once, after a successful run. A ping that fails does not fail the run. */
async function ping(ctx: ObjectContext, name: CronJobName, parts: JobRunParts): Promise<void> {
  const url = parts.heartbeatUrlOf(name);
  if (url === undefined) return;
  const failure = await ctx.run("ping-heartbeat", () => parts.pingHeartbeat(url));
  if (failure !== null) ctx.console.warn("heartbeat not pinged", { job: name, detail: failure });
}

async function report(
  ctx: ObjectContext,
  name: CronJobName,
  { result, metrics }: { result: CronRun; metrics: CronMetrics },
): Promise<void> {
  // Journaled, so that a replayed run is counted once.
  await ctx.run("count-run", async () => metrics.count(name, result));
  const fields = { job: name, runId: result.run_id, summary: result.summary };
  if (result.outcome === "succeeded") ctx.console.info("cron job done", fields);
  else ctx.console.error("cron job failed", fields);
}

export function createCronServices(parts: JobRunParts & CronObjectParts) {
  return [createCronObject(parts), createJobRunService(parts)];
}
