/** The batch: deploys its members, a limited number at once, and records results as they come in. */
import {
  type Context,
  implement,
  type internal,
  RestatePromise,
  type TerminalError,
} from "@restatedev/restate-sdk";
import { type DeployResult, sentinelService } from "#fleet/contract.ts";
import { singletonKey } from "#rollout/contract.ts";
import { type BatchRun, rolloutBatch, rolloutObject } from "#rollout/internal.ts";
import type { DeployOutcome, Target } from "#rollout/rules/outcome.ts";

type Event =
  | { type: "deployed"; target: Target; outcome: DeployOutcome; wasKilled: boolean }
  | { type: "unordered"; index: number }
  | { type: "recorded"; wasKilled: boolean }
  | { type: "stop" };

/** How many calls of `record` that were killed a batch repeats in all. */
const recordAttempts = 20;

export const batchService = implement(rolloutBatch, {
  handlers: { run: runBatch },
  options: {
    ingressPrivate: true,
    // A cancelled batch starts no more deploys and lets those in flight finish.
    explicitCancellation: true,
    journalRetention: { minutes: 5 },
  },
});

async function runBatch(ctx: Context, run: BatchRun): Promise<{ stopped: boolean }> {
  const work = new BatchWork(ctx, run);
  while (!work.isDone()) {
    work.launch();
    work.record();
    work.take(await work.nextEvent());
  }
  return { stopped: work.isStopped };
}

/** The deploys of a batch: those waiting, those in flight, and the results not recorded yet. */
class BatchWork {
  readonly #ctx: Context;
  readonly #run: Omit<BatchRun, "targets">;
  readonly #waiting: Target[];
  readonly #stop: RestatePromise<Event>;
  readonly #inFlight = new Map<number, RestatePromise<Event>>();
  #unrecorded: DeployOutcome[] = [];
  #recording: RestatePromise<Event> | undefined;
  /** The results in the current call of `record`, in case it is killed. */
  #beingRecorded: DeployOutcome[] = [];
  #killedRecords = 0;
  #isClosed = false;
  isStopped = false;

  constructor(ctx: Context, { targets, ...run }: BatchRun) {
    this.#ctx = ctx;
    this.#run = run;
    this.#waiting = [...targets];
    this.#stop = stopEvent(ctx);
  }

  isDone(): boolean {
    return this.#isClosed && this.#recording === undefined;
  }

  /** Starts as many deploys as the bound allows. With a failure budget, none before a failure is judged. */
  launch(): void {
    if (this.#run.hasBudget === true && this.#hasFreshFailure()) return;
    while (!this.isStopped && this.#inFlight.size < this.#run.parallel) {
      const target = this.#waiting.shift();
      if (target === undefined) return;
      this.#inFlight.set(target.index, deploy(this.#ctx, target, this.#run.run));
    }
  }

  /**
   * Records the results that have come in, with one call at a time. Results that come during a call are
   * batched into the next one: a fast fleet is recorded many at once, a slow one result by result.
   */
  record(): void {
    if (this.#recording !== undefined) return;
    const closed = this.#inFlight.size === 0 && (this.isStopped || this.#waiting.length === 0);
    if (!closed && this.#unrecorded.length === 0) return;
    this.#recording = this.#ctx
      .client(rolloutObject, singletonKey)
      .record({
        ...this.#run,
        invocation: this.#ctx.request().id,
        results: this.#unrecorded,
        inFlight: this.#inFlight.size,
        closed,
      })
      .map((_, failure): Event => ({ type: "recorded", wasKilled: failure !== undefined }));
    this.#beingRecorded = this.#unrecorded;
    this.#unrecorded = [];
    this.#isClosed = closed;
  }

  #hasFreshFailure(): boolean {
    const judging = this.#recording === undefined ? [] : this.#beingRecorded;
    return [...judging, ...this.#unrecorded].some(({ ok }) => !ok);
  }

  nextEvent(): RestatePromise<Event> {
    const others = [this.#recording, this.isStopped ? undefined : this.#stop];
    return RestatePromise.race([
      ...this.#inFlight.values(),
      ...others.filter((other) => other !== undefined),
    ]);
  }

  take(event: Event): void {
    if (event.type === "stop") this.isStopped = true;
    if (event.type === "recorded") this.#takeRecorded(event.wasKilled);
    if (event.type === "unordered") {
      // Its run has stopped: the sentinel was not ordered, and no other one will be.
      this.#inFlight.delete(event.index);
      this.isStopped = true;
    }
    if (event.type !== "deployed") return;
    this.#inFlight.delete(event.outcome.index);
    this.#unrecorded.push(event.outcome);
    if (event.wasKilled) abandon(this.#ctx, event);
  }

  /** Repeats a call of `record` that was killed. Results that it has written already change nothing. */
  #takeRecorded(wasKilled: boolean): void {
    this.#recording = undefined;
    if (!wasKilled || ++this.#killedRecords > recordAttempts) return;
    this.#unrecorded = [...this.#beingRecorded, ...this.#unrecorded];
    this.#isClosed = false;
  }
}

function stopEvent(ctx: Context): RestatePromise<Event> {
  const toEvent = (): Event => ({ type: "stop" });
  const cancelled = (ctx as unknown as internal.ContextInternal).cancellation();
  return RestatePromise.race([ctx.signal<null>("stop").map(toEvent), cancelled.map(toEvent)]);
}

function deploy(ctx: Context, target: Target, run: string | undefined): RestatePromise<Event> {
  const { index, id, image } = target;
  return ctx
    .client(sentinelService, id)
    .Deploy({ image, ...(run !== undefined && { run }) })
    .map((result, failure): Event => {
      if (result?.ordered === false) return { type: "unordered", index };
      const outcome = { index, id, ...judge(result, failure) };
      return { type: "deployed", target, outcome, wasKilled: failure !== undefined };
    });
}

function judge(
  result: DeployResult | undefined,
  failure: TerminalError | undefined,
): Pick<DeployOutcome, "ok" | "reason" | "ofFleet"> {
  if (failure !== undefined) {
    return { ok: false, reason: `cancelled: the deploy ended with "${failure.message}"` };
  }
  if (result?.status === "ready") return { ok: true };
  const reason = result?.reason ?? "timeout_unknown";
  return { ok: false, reason, ...(result?.unasked === true && { ofFleet: true }) };
}

/** Corrects the status of a sentinel whose deploy was killed and left it as progressing. */
function abandon(ctx: Context, event: { target: Target; outcome: DeployOutcome }): void {
  const { target, outcome } = event;
  const reason = outcome.reason ?? "cancelled";
  ctx.sendClient(sentinelService, target.id).Abandon({ image: target.image, reason });
}
