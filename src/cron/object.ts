/** The timers of the jobs: one virtual object per job, so that they survive restarts and crashes. */
import {
  InvocationIdParser,
  implement,
  type ObjectContext,
  type ObjectSharedContext,
} from "@restatedev/restate-sdk";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { ProblemError } from "#kernel/problem.ts";
import { after, asTerminalError, durableTimer, endsWithin, unkept } from "#kernel/restate.ts";
import { noSuch } from "#kernel/text.ts";
import { toIso } from "#kernel/time.ts";
import {
  type CronJobName,
  type CronProblemCode,
  type CronRun,
  type CronStatus,
  cronJobs,
} from "./contract.ts";
import { cronObject, cronRuns, type Launched, type RunOrder, type Starter } from "./internal.ts";
import {
  describeSchedule,
  dueAfterStart,
  isStuck,
  type Job,
  nextTick,
  type Timer,
} from "./schedule.ts";

/** The jobs of this installation. An absent job is off: its timer stops at its next tick. */
export type Jobs = Partial<Record<CronJobName, Job>>;

export type CronObjectParts = { jobs: Jobs; readActor: ReadActor };

export function createCronObject({ jobs, readActor }: CronObjectParts) {
  return implement(cronObject, {
    handlers: {
      Status: (ctx) => status(ctx, jobs),
      Run: (ctx) => runNow(ctx, { jobs, readActor }),
      start: (ctx) => start(ctx, jobs),
      tick: (ctx, { generation }) => tick(ctx, jobs, generation),
      launch,
      finished,
    },
    options: {
      journalRetention: 0,
      asTerminalError,
      handlers: {
        Status: unkept,
        tick: { ingressPrivate: true },
        launch: { ingressPrivate: true },
        finished: { ingressPrivate: true },
      },
    },
  });
}

/** Starts the timer if it is not running. Called when a worker starts, and every 5 minutes after that. */
async function start(ctx: ObjectContext, jobs: Jobs): Promise<null> {
  const job = findJob(ctx, jobs);
  if (job === undefined) return null;
  const timer = await timers.read(ctx);
  const { isArmed, dueAtMs } = dueAfterStart(timer, { ...job, nowMs: await ctx.date.now() });
  if (!isArmed) await arm(ctx, jobs, dueAtMs);
  return null;
}

async function tick(ctx: ObjectContext, jobs: Jobs, generation: number): Promise<null> {
  const job = findJob(ctx, jobs);
  const timer = await timers.readCurrent(ctx, generation);
  // The timer was replaced by another one, or the job was switched off.
  if (job === undefined || timer === null) return null;
  // The clock that set the timer may be slightly ahead of ours: never run the same grid point twice.
  const now = Math.max(await ctx.date.now(), timer.dueAtMs);
  await arm(ctx, jobs, nextTick(job.schedule, now));
  if (await isRunning(ctx)) {
    ctx.console.warn("cron job still running, run skipped", { job: ctx.key });
    return null;
  }
  await launchRun(ctx, { notBeforeMs: timer.dueAtMs, by: null });
  return null;
}

async function arm(ctx: ObjectContext, jobs: Jobs, dueAtMs: number): Promise<void> {
  const schedule = findJob(ctx, jobs)?.schedule;
  if (schedule === undefined) return;
  const before = await timers.read(ctx);
  const delayMs = dueAtMs - (await ctx.date.now());
  timers.set(ctx, { before, dueAtMs, schedule }, (generation) =>
    ctx.sendClient(cronObject, ctx.key).tick({ generation }, after(delayMs)),
  );
}

/** A timer may fire slightly early: the run is then dated at its grid point, so that its day is right. */
async function launchRun(
  ctx: ObjectContext,
  { notBeforeMs, by }: Starter & { notBeforeMs: number },
): Promise<Launched> {
  const runId = ctx.rand.uuidv4();
  const startedAtMs = Math.max(await ctx.date.now(), notBeforeMs);
  const order = { runId, startedAtMs, by };
  const invocation = await ctx.sendClient(cronRuns, ctx.key).run(order).invocationId;
  writeRunning(ctx, { ...order, invocation });
  return { invocation, runId };
}

async function launch(ctx: ObjectContext, { by }: Starter): Promise<Launched> {
  if (await isRunning(ctx)) {
    throw problem(409, "already_running", `${ctx.key} is already running; one run at a time`);
  }
  return launchRun(ctx, { notBeforeMs: 0, by });
}

async function runNow(
  ctx: ObjectSharedContext,
  { jobs, readActor }: CronObjectParts,
): Promise<CronRun> {
  if (findJob(ctx, jobs) === undefined) {
    throw problem(409, "job_off", `${ctx.key} is off by the settings`);
  }
  const by = nameOf(readActor(ctx));
  const { invocation, runId } = await ctx.client(cronObject, ctx.key).launch({ by });
  ctx.console.info("cron job started by an operator", { job: ctx.key, runId, by });
  return ctx.invocation(InvocationIdParser.fromString(invocation)).attach<CronRun>();
}

async function finished(ctx: ObjectContext, run: CronRun): Promise<null> {
  const running = await readRunning(ctx);
  // A run that was taken for lost may still report its end: then the newer run counts.
  if (running?.runId === run.run_id) writeEnd(ctx, run);
  return null;
}

/** The time to wait for the end of a run, by attaching to it, before it counts as running. */
const attachTimeoutMs = 250;

/** True if a run is active. Detects a run that was killed, and closes it as lost. */
async function isRunning(ctx: ObjectContext): Promise<boolean> {
  const running = await readRunning(ctx);
  if (running === null) return false;
  const end = await endOf(ctx, running);
  if (end === undefined) return true;
  writeEnd(ctx, end);
  return false;
}

async function endOf(ctx: ObjectContext, running: ActiveRun): Promise<CronRun | undefined> {
  const { invocation, runId, startedAtMs, by } = running;
  const [end] = (await endsWithin<CronRun>(ctx, [invocation], attachTimeoutMs)) ?? [];
  if (end === undefined) return undefined;
  if (end.result !== undefined) return end.result;
  ctx.console.error("cron run lost", { job: ctx.key, runId, detail: end.failure });
  return {
    run_id: runId,
    by,
    outcome: "lost",
    summary: `ended early: ${end.failure ?? "killed"}`,
    started_at: toIso(startedAtMs),
    ended_at: toIso(await ctx.date.now()),
  };
}

async function status(ctx: ObjectSharedContext, jobs: Jobs): Promise<CronStatus> {
  const job = findJob(ctx, jobs);
  const timer = await timers.read(ctx);
  const running = await readRunning(ctx);
  const lastRun = await readLastRun(ctx);
  const lastSuccess = await readLastSuccess(ctx);
  const nowMs = await ctx.date.now();
  if (job !== undefined && isStuck(timer, job.schedule, nowMs)) {
    ctx.sendClient(cronObject, ctx.key).start({});
  }
  return {
    job: ctx.key as CronJobName,
    schedule: job === undefined ? "off" : describeSchedule(job.schedule),
    ...(job !== undefined && timer !== null && { next_at: toIso(timer.dueAtMs) }),
    ...(running !== null && { running_since: toIso(running.startedAtMs), running_by: running.by }),
    ...(lastRun !== null && { last_run: lastRun }),
    ...(lastSuccess !== null && { last_success_at: lastSuccess }),
  };
}

/** The job of this key; undefined: it is off. Throws 404 `unknown_job` for a key that is not a job. */
function findJob(ctx: ObjectSharedContext, jobs: Jobs): Job | undefined {
  const name = cronJobs.find((known) => known === ctx.key);
  if (name !== undefined) return jobs[name];
  throw problem(404, "unknown_job", noSuch("job", ctx.key, cronJobs));
}

function problem(status: number, code: CronProblemCode, detail: string): ProblemError {
  return new ProblemError<CronProblemCode>({ status, code, detail });
}

/** The active run, and the invocation to attach to. */
type ActiveRun = RunOrder & { invocation: string };

const keys = { running: "running", lastRun: "lastRun", lastSuccessAt: "lastSuccessAt" } as const;

const timers = durableTimer<Timer>("timer");

const readRunning = (ctx: ObjectSharedContext) => ctx.get<ActiveRun>(keys.running);
const writeRunning = (ctx: ObjectContext, run: ActiveRun) => ctx.set(keys.running, run);

const readLastRun = (ctx: ObjectSharedContext) => ctx.get<CronRun>(keys.lastRun);
const readLastSuccess = (ctx: ObjectSharedContext) => ctx.get<string>(keys.lastSuccessAt);

/** Closes the active run, and stores how it has ended. */
function writeEnd(ctx: ObjectContext, run: CronRun): void {
  ctx.clear(keys.running);
  ctx.set(keys.lastRun, run);
  if (run.outcome === "succeeded") ctx.set(keys.lastSuccessAt, run.ended_at);
}
