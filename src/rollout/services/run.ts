/** The run: leads a rollout through its waves, or a rollback through its batches. */
import {
  CancelledError,
  type Context,
  type InvocationId,
  InvocationIdParser,
  implement,
  RestatePromise,
  TerminalError,
} from "@restatedev/restate-sdk";
import { type RollbackResult, singletonKey } from "#rollout/contract.ts";
import {
  type CaptureResult,
  type Instruction,
  type Run,
  type RunEnd,
  rolloutCapture,
  rolloutObject,
  rolloutRuns,
} from "#rollout/internal.ts";
import { gatePollMs, type ReadChecks } from "#rollout/rules/gate.ts";
import type { RunKind } from "#rollout/rules/outcome.ts";
import type { SizedBatch } from "#rollout/state.ts";

export type RunSettings = {
  /** Deploys in flight over the whole fleet. */
  maxParallel: number;
  /** Reads reports of checks since a time. */
  readChecks: ReadChecks;
  /** How long a deploy may take; it also bounds the wait for deploys that an earlier run left in flight. */
  deployTimeoutMs: number;
};

/** Batches that run at once: enough that one slow batch does not delay the rest. */
const batchesAtOnce = 4;

/** How many times a batch is started, when it is killed, before its wave ends without its results. */
const batchAttempts = 3;

export function createRunService(settings: RunSettings) {
  return implement(rolloutRuns, {
    handlers: { run: (ctx, run) => runToEnd(ctx, run, settings) },
    options: { ingressPrivate: true, journalRetention: { hours: 1 } },
  });
}

async function runToEnd(ctx: Context, run: Run, settings: RunSettings): Promise<RollbackResult> {
  try {
    return await (run.kind === "rollout"
      ? runRollout(ctx, run, settings)
      : runRollback(ctx, run, settings));
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return endEarly(ctx, run, failureOf(error));
  }
}

function endEarly(
  ctx: Context,
  { rolloutId }: Run,
  why: Pick<RunEnd, "failure" | "cause">,
): Promise<RollbackResult> {
  const ended = { rolloutId, runner: ctx.request().id, ...why };
  return ctx.client(rolloutObject, singletonKey).runnerEnded(ended);
}

function failureOf(error: TerminalError): Pick<RunEnd, "failure" | "cause"> {
  const failure =
    error instanceof CancelledError ? "the run was cancelled in Restate" : error.message;
  return { failure, cause: "run" };
}

async function runRollout(ctx: Context, run: Run, settings: RunSettings): Promise<RollbackResult> {
  const { rolloutId } = run;
  const rollout = ctx.client(rolloutObject, singletonKey);
  const stop = ctx.signal<null>("stop");
  const isStopped = await RestatePromise.race([
    drain(ctx, run.drain, settings.deployTimeoutMs).map(() => false),
    stop.map(() => true),
  ]);
  const captured = await capture(ctx, rolloutId, stop);
  if (captured !== null) return endEarly(ctx, run, { failure: captured.unlisted, cause: "fleet" });
  let next = await rollout.advance({ rolloutId, ...(isStopped && { isStopped }) });
  while (next.action !== "stop") {
    if (next.action === "wait") {
      next = await waitAtGate(ctx, { ...next, rolloutId, stop }, settings);
      continue;
    }
    await runBatches(ctx, { rolloutId, kind: run.kind, batches: next.batches }, settings);
    next = await rollout.advance({ rolloutId, finishedWave: next.waveIndex });
  }
  return { ...next.status, reverted: 0, not_reverted: [] };
}

/** Freezes the fleet, which may take minutes to list; ends early when the rollout is stopped meanwhile. */
async function capture(
  ctx: Context,
  rolloutId: string,
  stop: RestatePromise<null>,
): Promise<CaptureResult> {
  const capturing = ctx.client(rolloutCapture).run({ rolloutId });
  const first = await RestatePromise.race([capturing, stop.map(() => "stopped" as const)]);
  if (first !== "stopped") return first;
  ctx.invocation(await capturing.invocationId).cancel();
  return null;
}

async function runRollback(ctx: Context, run: Run, settings: RunSettings): Promise<RollbackResult> {
  const { rolloutId } = run;
  const rollout = ctx.client(rolloutObject, singletonKey);
  await drain(ctx, run.drain, settings.deployTimeoutMs);
  const batches = await rollout.rollbackBatches({ rolloutId });
  await runBatches(ctx, { rolloutId, kind: run.kind, batches }, settings);
  return rollout.endRollback({ rolloutId });
}

type Wait = Extract<Instruction, { action: "wait" }> & {
  rolloutId: string;
  /** Resolves when the rollout is stopped meanwhile. */
  stop: RestatePromise<null>;
};

/** Waits one interval, reads the checks of the gate, and gets the next instruction. */
async function waitAtGate(
  ctx: Context,
  wait: Wait,
  { readChecks }: RunSettings,
): Promise<Instruction> {
  const { rolloutId, finishedWave, gate, sinceMs, stop } = wait;
  await RestatePromise.race([ctx.sleep(gatePollMs(gate)).map(() => null), stop]);
  // No endless retries, so that a Cancel is noticed while the checks cannot be read.
  const read = () =>
    readChecks(gate.checks, sinceMs).catch((error: Error) => {
      ctx.console.warn("checks of the gate not read", { rolloutId, detail: error.message });
      return null;
    });
  const reports = await ctx.run("read-checks", read);
  return ctx.client(rolloutObject, singletonKey).passGate({ rolloutId, finishedWave, reports });
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

type BatchesRun = { rolloutId: string; kind: RunKind; batches: SizedBatch[] };

/** Runs batches, a few at once, until all have ended or one was stopped. */
async function runBatches(ctx: Context, run: BatchesRun, settings: RunSettings): Promise<void> {
  const lanes = new BatchLanes(ctx, run, settings);
  while (lanes.hasWork()) {
    await lanes.fill();
    if (lanes.hasRunning()) lanes.take(await lanes.nextEnd());
  }
}

type Job = SizedBatch & { attempts: number };
type BatchEnd = { job: Job; stopped: boolean; wasLost: boolean };

/** The running batches, which share the limit of deploys in flight. */
class BatchLanes {
  readonly #ctx: Context;
  readonly #run: BatchesRun;
  readonly #waiting: Job[];
  readonly #running = new Map<number, { parallel: number; end: RestatePromise<BatchEnd> }>();
  #freeSlots: number;
  #isStopped = false;

  constructor(ctx: Context, run: BatchesRun, settings: RunSettings) {
    this.#ctx = ctx;
    this.#run = run;
    this.#waiting = run.batches.map((batch) => ({ ...batch, attempts: 1 }));
    this.#freeSlots = settings.maxParallel;
  }

  hasWork(): boolean {
    return this.#running.size > 0 || (!this.#isStopped && this.#waiting.length > 0);
  }

  hasRunning(): boolean {
    return this.#running.size > 0;
  }

  async fill(): Promise<void> {
    while (!this.#isStopped && this.#running.size < batchesAtOnce && this.#freeSlots > 0) {
      const next = this.#waiting.slice(0, batchesAtOnce - this.#running.size);
      const job = this.#waiting.shift();
      if (job === undefined) return;
      const sizes = next.map(({ size }) => size);
      const parallel = shareOf(this.#freeSlots, sizes);
      await this.#launch(job, parallel);
    }
  }

  async #launch(job: Job, parallel: number): Promise<void> {
    const { rolloutId, kind } = this.#run;
    const request = { rolloutId, kind, batch: job.batch, parallel };
    const launched = await this.#ctx.client(rolloutObject, singletonKey).launchBatch(request);
    if (launched === "stopped") this.#isStopped = true;
    if (launched === "stopped" || launched === "idle") return;
    const id = InvocationIdParser.fromString(launched.invocation);
    this.#freeSlots -= parallel;
    this.#running.set(job.batch, { parallel, end: this.#endOf(id, job) });
  }

  #endOf(id: InvocationId, job: Job): RestatePromise<BatchEnd> {
    return attach(this.#ctx, id).map((end, failure) => ({
      job,
      stopped: end?.stopped === true,
      wasLost: failure !== undefined,
    }));
  }

  nextEnd(): RestatePromise<BatchEnd> {
    return RestatePromise.race([...this.#running.values()].map(({ end }) => end));
  }

  take(end: BatchEnd): void {
    this.#freeSlots += this.#running.get(end.job.batch)?.parallel ?? 0;
    this.#running.delete(end.job.batch);
    if (end.stopped) this.#isStopped = true;
    if (!end.wasLost || end.job.attempts >= batchAttempts) return;
    this.#waiting.push({ ...end.job, attempts: end.job.attempts + 1 });
  }
}

function attach(ctx: Context, id: InvocationId): RestatePromise<{ stopped: boolean }> {
  return ctx.invocation(id).attach<{ stopped: boolean }>();
}

/** How many of the free slots the first of the next batches gets: its share by size, at least one. */
export function shareOf(freeSlots: number, sizes: readonly number[]): number {
  const [first = 0] = sizes;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return Math.min(first, freeSlots, Math.max(1, Math.ceil((freeSlots * first) / total)));
}
