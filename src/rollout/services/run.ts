/** The run: leads a rollout through its waves, or a rollback through its batches. */
import {
  CancelledError,
  type Context,
  InvocationIdParser,
  implement,
  RestatePromise,
  TerminalError,
} from "@restatedev/restate-sdk";
import type { RollbackResult, RolloutStatus } from "#rollout/contract.ts";
import { keyOf, ofFleet } from "#rollout/fleets.ts";
import {
  type Advance,
  type CaptureResult,
  type Instruction,
  type Run,
  type RunEnd,
  type RunResult,
  rolloutCapture,
  rolloutObject,
  rolloutRuns,
  rolloutWatch,
} from "#rollout/internal.ts";
import {
  attach,
  type Cancelled,
  type LaneSettings,
  runBatches,
  type UnfinishedBatches,
} from "./lanes.ts";
import { type PollSettings, poll, waitAndPoll } from "./poll.ts";

export type RunSettings = LaneSettings &
  PollSettings & {
    /** The limit of a deploy; it also bounds the wait for deploys that an earlier run left in flight. */
    deployTimeoutMs: number;
  };

/** `settingsOf`: of a fleet, by its name. */
export function createRunService(settingsOf: (fleet: string) => RunSettings) {
  return implement(rolloutRuns, {
    handlers: { run: (ctx, run) => runToEnd(ctx, run, settingsOf(keyOf(run))) },
    options: { ingressPrivate: true, journalRetention: { hours: 1 } },
  });
}

async function runToEnd(ctx: Context, run: Run, given: RunSettings): Promise<RunResult> {
  try {
    const settings = await fixed(ctx, run, given);
    return await (run.kind === "rollout"
      ? runRollout(ctx, run, settings)
      : runRollback(ctx, run, settings));
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return endEarly(ctx, run, failureOf(error));
  }
}

/** The limit is in what the run sends, and so has to stay. Runs of the default fleet have none from before. */
async function fixed(ctx: Context, { fleet }: Run, settings: RunSettings): Promise<RunSettings> {
  if (fleet === undefined) return settings;
  return { ...settings, maxParallel: await ctx.run("read-parallel", () => settings.maxParallel) };
}

function endEarly(
  ctx: Context,
  run: Run,
  why: Pick<RunEnd, "failure" | "cause">,
): Promise<RunResult> {
  const ended = { rolloutId: run.rolloutId, runner: ctx.request().id, ...why };
  return ctx.client(rolloutObject, keyOf(run)).runnerEnded(ended);
}

function failureOf(error: TerminalError): Pick<RunEnd, "failure" | "cause"> {
  const failure =
    error instanceof CancelledError ? "the run was cancelled in Restate" : error.message;
  return { failure, cause: "run" };
}

async function runRollout(ctx: Context, run: Run, settings: RunSettings): Promise<RunResult> {
  const { rolloutId } = run;
  const rollout = ctx.client(rolloutObject, keyOf(run));
  const stop = ctx.signal<null>("stop");
  const isStopped = await RestatePromise.race([
    drain(ctx, run.drain, settings.deployTimeoutMs).map(() => false),
    stop.map(() => true),
  ]);
  const asked = { rolloutId, runner: ctx.request().id };
  let context: RunContext = { ...run, stop, cancelled: ctx.signal("cancel"), settings };
  let next = await rollout.advance({
    ...asked,
    ...(isStopped ? { isStopped } : await poll(ctx, context)),
  });
  while (next.action !== "stop") {
    context = { ...context, windowsEpoch: next.windowsEpoch };
    const result = await follow(ctx, next, context);
    if ("unlisted" in result) {
      return endEarly(ctx, run, { failure: result.unlisted, cause: "fleet" });
    }
    if ("cancelled" in result) return toResult(result.cancelled);
    next = await rollout.advance({ ...asked, ...result });
  }
  const { status, followedBy } = next;
  return { ...toResult(status), ...(followedBy !== undefined && { followedBy }) };
}

type RunContext = Run & {
  stop: RestatePromise<null>;
  /** Cancel's own signal: its callers do not wait for what is in flight, as those of a pause do. */
  cancelled: Cancelled;
  settings: RunSettings;
};

type StepResult = Omit<Advance, "rolloutId" | "runner">;

/** Does what the instruction says, and answers with what was done and what was read since. */
async function follow(
  ctx: Context,
  next: Exclude<Instruction, { action: "stop" }>,
  context: RunContext,
): Promise<StepResult | { unlisted: string } | { cancelled: RolloutStatus }> {
  if (next.action === "wait") return waitAndPoll(ctx, { ...context, ...next });
  if (next.action === "capture") {
    const captured = await capture(ctx, context);
    return captured ?? poll(ctx, context);
  }
  const { batches, oneByOne } = next;
  const unfinished = await runBatches(ctx, { ...context, batches, oneByOne }, context.settings);
  if (unfinished !== null)
    return handToWatch(ctx, context, { ...unfinished, waveIndex: next.waveIndex });
  return { ...(await poll(ctx, context)), finishedWave: next.waveIndex };
}

/** Hands the unfinished batches of a cancelled rollout to the watch, which waits for them. */
function handToWatch(
  ctx: Context,
  { rolloutId, ...run }: RunContext,
  { invocations, status, waveIndex }: UnfinishedBatches & { waveIndex: number },
): StepResult | { cancelled: RolloutStatus } {
  ctx.sendClient(rolloutWatch).batches({ rolloutId, invocations, ...ofFleet(keyOf(run)) });
  if (status !== null) return { cancelled: status };
  // Its Cancel has failed after it was written.
  return { isStopped: true, finishedWave: waveIndex };
}

/** Freezes the fleet, which may take minutes to list; ends early when the rollout is stopped meanwhile. */
async function capture(ctx: Context, { stop, ...run }: RunContext): Promise<CaptureResult> {
  const { rolloutId } = run;
  const wanted = { rolloutId, runner: ctx.request().id, ...ofFleet(keyOf(run)) };
  const capturing = ctx.client(rolloutCapture).run(wanted);
  const first = await RestatePromise.race([capturing, stop.map(() => "stopped" as const)]);
  if (first !== "stopped") return first;
  ctx.invocation(await capturing.invocationId).cancel();
  return null;
}

async function runRollback(ctx: Context, run: Run, settings: RunSettings): Promise<RollbackResult> {
  const { rolloutId } = run;
  const rollout = ctx.client(rolloutObject, keyOf(run));
  await drain(ctx, run.drain, settings.deployTimeoutMs);
  const batches = await rollout.rollbackBatches({ rolloutId });
  await runBatches(ctx, { ...run, batches }, settings);
  return rollout.endRollback({ rolloutId });
}

/** Resolves when the invocations of earlier runs have ended, killed ones included. */
function drain(
  ctx: Context,
  invocations: string[],
  deployTimeoutMs: number,
): RestatePromise<unknown> {
  const ends = invocations.map((id) =>
    attach(ctx, InvocationIdParser.fromString(id)).orTimeout(deployTimeoutMs + 60_000),
  );
  return RestatePromise.allSettled(ends);
}

/** Converts the status into the result of a rollout's run. */
export function toResult(status: RolloutStatus): RunResult {
  return { ...status, reverted: 0, not_reverted: [] };
}

/** And back. */
export function statusOf(result: RunResult): RolloutStatus {
  const { reverted: _r, not_reverted: _n, followedBy: _f, ...status } = result;
  return status;
}
