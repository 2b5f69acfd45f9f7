/** Runs batches, a few at once, which share the limit of deploys in flight. */
import {
  type Context,
  type InvocationId,
  InvocationIdParser,
  RestatePromise,
} from "@restatedev/restate-sdk";
import type { RolloutStatus } from "#rollout/contract.ts";
import { keyOf, type OfFleet, ofFleet } from "#rollout/fleets.ts";
import { rolloutObject } from "#rollout/internal.ts";
import type { RunKind } from "#rollout/rules/outcome.ts";
import type { SizedBatch } from "#rollout/state.ts";

/** Batches that run at once: enough that one slow batch does not delay the rest. */
const batchesAtOnce = 4;

/** The number of starts of a batch that is killed, before its wave ends without its results. */
const batchAttempts = 3;

export type LaneSettings = {
  /** Deploys in flight over the whole fleet. */
  maxParallel: number;
};

type BatchesRun = OfFleet & {
  rolloutId: string;
  kind: RunKind;
  batches: SizedBatch[];
  /** One after the other: each knows how many may become unavailable. */
  oneByOne?: boolean | undefined;
  /** Resolves when nobody is to wait for batches any more. */
  cancelled?: Cancelled;
};

/** Resolves with what the run is to answer. null: it has to ask, because Cancel has failed. */
export type Cancelled = RestatePromise<RolloutStatus | null>;

/** `invocations`: of batches that go on, and record what they have in flight. */
export type UnfinishedBatches = { invocations: string[]; status: RolloutStatus | null };

/** Runs batches, a few at once, until all have ended or one was stopped: null. Or until it was cancelled. */
export async function runBatches(
  ctx: Context,
  { cancelled, ...run }: BatchesRun,
  settings: LaneSettings,
): Promise<UnfinishedBatches | null> {
  const lanes = new BatchLanes(ctx, run, settings);
  const cancel =
    cancelled === undefined ? [] : [cancelled.map((status) => ({ status: status ?? null }))];
  while (lanes.hasWork()) {
    await lanes.fill();
    if (!lanes.hasRunning()) continue;
    const end = await RestatePromise.race([...lanes.ends(), ...cancel]);
    if ("status" in end) return { invocations: lanes.invocations(), ...end };
    lanes.take(end);
  }
  return null;
}

type RunningBatch = { invocation: string; parallel: number; end: RestatePromise<BatchEnd> };
type Job = SizedBatch & { attempts: number };
type BatchEnd = { job: Job; stopped: boolean; wasLost: boolean };

/** The running batches, which share the limit of deploys in flight. */
class BatchLanes {
  readonly #ctx: Context;
  readonly #run: Omit<BatchesRun, "cancelled">;
  readonly #waiting: Job[];
  readonly #running = new Map<number, RunningBatch>();
  #freeSlots: number;
  readonly #atOnce: number;
  #isStopped = false;

  constructor(ctx: Context, run: Omit<BatchesRun, "cancelled">, settings: LaneSettings) {
    this.#ctx = ctx;
    this.#run = run;
    this.#waiting = run.batches.map((batch) => ({ ...batch, attempts: 1 }));
    this.#freeSlots = settings.maxParallel;
    this.#atOnce = run.oneByOne === true ? 1 : batchesAtOnce;
  }

  hasWork(): boolean {
    return this.#running.size > 0 || (!this.#isStopped && this.#waiting.length > 0);
  }

  hasRunning(): boolean {
    return this.#running.size > 0;
  }

  async fill(): Promise<void> {
    while (!this.#isStopped && this.#running.size < this.#atOnce && this.#freeSlots > 0) {
      const next = this.#waiting.slice(0, this.#atOnce - this.#running.size);
      const job = this.#waiting.shift();
      if (job === undefined) return;
      const sizes = next.map(({ size }) => size);
      const parallel = shareOf(this.#freeSlots, sizes);
      await this.#launch(job, parallel);
    }
  }

  async #launch(job: Job, parallel: number): Promise<void> {
    const { rolloutId, kind } = this.#run;
    const runner = this.#ctx.request().id;
    const key = keyOf(this.#run);
    const request = { rolloutId, runner, kind, batch: job.batch, parallel, ...ofFleet(key) };
    const launched = await this.#ctx.client(rolloutObject, key).launchBatch(request);
    if (launched === "stopped") this.#isStopped = true;
    if (launched === "stopped" || launched === "idle") return;
    const { invocation } = launched;
    const end = this.#endOf(InvocationIdParser.fromString(invocation), job);
    this.#freeSlots -= parallel;
    this.#running.set(job.batch, { invocation, parallel, end });
  }

  #endOf(id: InvocationId, job: Job): RestatePromise<BatchEnd> {
    return attach(this.#ctx, id).map((end, failure) => ({
      job,
      stopped: end?.stopped === true,
      wasLost: failure !== undefined,
    }));
  }

  invocations(): string[] {
    return [...this.#running.values()].map(({ invocation }) => invocation);
  }

  ends(): RestatePromise<BatchEnd>[] {
    return [...this.#running.values()].map(({ end }) => end);
  }

  take(end: BatchEnd): void {
    this.#freeSlots += this.#running.get(end.job.batch)?.parallel ?? 0;
    this.#running.delete(end.job.batch);
    if (end.stopped) this.#isStopped = true;
    if (!end.wasLost || end.job.attempts >= batchAttempts) return;
    this.#waiting.push({ ...end.job, attempts: end.job.attempts + 1 });
  }
}

export function attach(ctx: Context, id: InvocationId): RestatePromise<{ stopped: boolean }> {
  return ctx.invocation(id).attach<{ stopped: boolean }>();
}

/** Returns the share of the free slots that the first of the next batches gets: by size, at least one. */
export function shareOf(freeSlots: number, sizes: readonly number[]): number {
  const [first = 0] = sizes;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return Math.min(first, freeSlots, Math.max(1, Math.ceil((freeSlots * first) / total)));
}
