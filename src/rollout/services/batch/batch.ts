/** The batch: deploys its members, a limited number at once, and records results as they come in. */
import { type Context, implement, RestatePromise } from "@restatedev/restate-sdk";
import type { DeployStart, FindOrdered, StartDeploys } from "#fleet/deploys/contract.ts";
import { inTrace } from "#kernel/tracing.ts";
import { keyOf } from "#rollout/fleets.ts";
import { type BatchRun, rolloutBatch, rolloutObject } from "#rollout/internal.ts";
import type { DeployOutcome, Target } from "#rollout/rules/outcome.ts";
import {
  abandon,
  deploy,
  deployIdOf,
  type Event,
  start,
  stopEvent,
  toEvent,
  warn,
} from "./events.ts";
import { PinWatch, type ReadPinned } from "./pin-watch.ts";
import { Slots } from "./slots.ts";
import { BatchSpans } from "./spans.ts";

/** The time after which results of quick deploys are recorded, unless the batch ends before or one has failed. */
const recordAfterMs = 1_000;

/** The number of killed calls of `record` that a batch repeats in all. */
const recordAttempts = 20;

export type BatchParts = {
  readPinned: ReadPinned;
  startDeploys: StartDeploys;
  findOrdered: FindOrdered;
};

export function createBatchService(parts: BatchParts) {
  return implement(rolloutBatch, {
    handlers: { run: (ctx, run) => runBatch(ctx, run, parts) },
    options: {
      ingressPrivate: true,
      // A cancelled batch starts no more deploys and lets those in flight finish.
      explicitCancellation: true,
      journalRetention: { minutes: 5 },
    },
  });
}

async function runBatch(
  ctx: Context,
  run: BatchRun,
  parts: BatchParts,
): Promise<{ stopped: boolean }> {
  const work = new BatchWork(ctx, run, parts);
  return inTrace(work.spans.trace, async () => {
    while (!work.isDone()) {
      work.readPins();
      work.launch();
      work.record();
      work.take(await work.nextEvent());
    }
    work.spans.send();
    return { stopped: work.isStopped };
  });
}

/** The deploys of a batch: those waiting, those in flight, and the results not recorded yet. */
class BatchWork {
  readonly #ctx: Context;
  readonly #run: Omit<BatchRun, "targets">;
  readonly #stop: RestatePromise<Event>;
  readonly #pins: PinWatch;
  readonly #slots: Slots;
  readonly #startDeploys: StartDeploys;
  readonly #findOrdered: (members: readonly { id: string }[], run?: string) => Promise<string[]>;
  /** The promise by which each deploy is awaited, which those of a group share; by the index of its sentinel. */
  readonly #inFlight = new Map<number, RestatePromise<Event>>();
  /** The number of groups being started, which takes a few seconds at most. */
  #groups = 0;
  /** The time spent on deploys whose results are not recorded yet. */
  #unrecordedMs = 0;
  /** True if deploys end in a moment, so that beginning them in groups pays. */
  #isQuick = true;
  #waiting: Target[];
  #unrecorded: DeployOutcome[] = [];
  #recording: RestatePromise<Event> | undefined;
  /** The results in the current call of `record`, in case it is killed. */
  #beingRecorded: DeployOutcome[] = [];
  #killedRecords = 0;
  #asking: RestatePromise<Event> | undefined;
  /** True if none of those that wait was ordered, by an attempt or a batch that was killed. */
  #isAsked = false;
  #isClosed = false;
  isStopped = false;
  readonly spans: BatchSpans;

  constructor(
    ctx: Context,
    { targets, ...run }: BatchRun,
    { readPinned, startDeploys, findOrdered }: BatchParts,
  ) {
    this.#ctx = ctx;
    this.#run = run;
    this.spans = new BatchSpans(ctx, run);
    this.#startDeploys = startDeploys;
    this.#stop = stopEvent(ctx);
    const deployOf = new Map(targets.map((target) => [target.id, deployIdOf(run, target)]));
    this.#findOrdered = (members, of) =>
      findOrdered(new Map(members.map(({ id }) => [id, deployOf.get(id) ?? ""])), of);
    // A rollback takes what the rollout has changed.
    const readOf = async (ids: readonly string[]) => {
      const pinned = await readPinned(ids, keyOf(run));
      // A sentinel that an earlier run has ordered is pinned, too: it may have been changed by hand since, and be ordered again.
      const ordered = pinned.length === 0 ? [] : await this.#findOrdered(pinned, run.run);
      return pinned.filter(({ id }) => !ordered.includes(id));
    };
    this.#pins = new PinWatch(ctx, run.kind === "rollback" ? undefined : readOf);
    this.#slots = new Slots(run.slots);
    this.#waiting = targets.toSorted(
      (a, b) => Number(b.isDown === true) - Number(a.isDown === true),
    );
  }

  isDone(): boolean {
    return this.#isClosed && this.#recording === undefined;
  }

  /** Pins are of concern until nothing waits any more. */
  readPins(): void {
    if (this.#mayLaunchMore()) this.#pins.read(this.#waiting.map(({ id }) => id));
  }

  /** Starts as many deploys as the bounds allow. With a failure budget, none before a failure is judged. */
  launch(): void {
    if (!this.#pins.areKnown || !this.#mayLaunchMore() || this.#awaitsJudgement()) return;
    const free = this.#run.parallel - this.#inFlight.size;
    if (free <= 0) return;
    const targets: Target[] = [];
    // A group takes all, and has no more than `free` in flight. Where those that are down count, each takes its slot first.
    const most = this.#isQuick && this.#run.slots === undefined ? this.#waiting.length : free;
    while (targets.length < most && this.#slots.mayTake(this.#waiting[0])) {
      const target = this.#waiting.shift() as Target;
      this.#slots.take(target);
      targets.push(target);
    }
    if (this.#isQuick && targets.length > 0) this.#startGroup(targets, free);
    else for (const target of targets) this.#deploy(target);
  }

  #startGroup(targets: readonly Target[], atOnce: number): void {
    const startDeploys = this.#startDeploys;
    const parts = { run: this.#run, spans: this.spans, atOnce, startDeploys };
    const group = start(this.#ctx, targets, parts);
    for (const { index } of targets) this.#inFlight.set(index, group);
    this.#groups++;
    this.#isAsked = false;
  }

  #deploy(target: Target, start: DeployStart = {}): void {
    const parts = { ...start, run: this.#run, spans: this.spans };
    this.#inFlight.set(target.index, deploy(this.#ctx, target, parts));
  }

  #mayLaunchMore(): boolean {
    return !this.#isClosed && !this.isStopped && this.#waiting.length > 0;
  }

  #awaitsJudgement(): boolean {
    if (this.#run.hasBudget !== true) return false;
    const judging = this.#recording === undefined ? [] : this.#beingRecorded;
    return [...judging, ...this.#unrecorded].some(({ ok, leftOut }) => !ok && leftOut !== true);
  }

  /** One call at a time; later results are batched into the next: a fast fleet is recorded many at once. */
  record(): void {
    if (this.#recording !== undefined) return;
    const isBlocked = this.#isBlocked();
    const isOver = !this.#mayLaunchMore() || isBlocked;
    const closed = this.#inFlight.size === 0 && isOver && this.#knowsOrdered();
    if (!closed && (this.#unrecorded.length === 0 || this.#mayWait())) return;
    this.#recording = this.#ctx
      .client(rolloutObject, keyOf(this.#run))
      .record({
        ...this.#run,
        invocation: this.#ctx.request().id,
        results: this.#unrecorded,
        inFlight: Math.min(this.#inFlight.size, this.#run.parallel),
        closed,
        ...(isBlocked && { isBlocked }),
      })
      .map((_, failure): Event => ({ type: "recorded", wasKilled: failure !== undefined }));
    this.#beingRecorded = this.#unrecorded;
    this.#unrecorded = [];
    this.#unrecordedMs = 0;
    this.#isClosed = closed;
  }

  /** An attempt or a batch that was killed may have ordered some of those that wait: the batch does not end without them. */
  #knowsOrdered(): boolean {
    const waiting = this.#waiting;
    if (this.#isAsked || waiting.length === 0) return true;
    this.#asking ??= this.#ctx
      .run("find-ordered", () => this.#findOrdered(waiting))
      .map((ids = []): Event => ({ type: "ordered", ids }));
    return false;
  }

  /** While a group begins more results come in a moment, and many cost as much as one. */
  #mayWait(): boolean {
    const isLate = this.#unrecordedMs >= recordAfterMs || this.isStopped;
    return this.#groups > 0 && !isLate && this.#unrecorded.every(({ ok }) => ok);
  }

  /** True if what waits can't start, because too many are unavailable and nothing in flight can change that. */
  #isBlocked(): boolean {
    const isIdle = this.#inFlight.size === 0 && this.#pins.areKnown && this.#mayLaunchMore();
    return isIdle && !this.#slots.mayTake(this.#waiting[0]);
  }

  nextEvent(): RestatePromise<Event> {
    const others = [
      this.#recording,
      this.#asking,
      this.isStopped ? undefined : this.#stop,
      this.#mayLaunchMore() ? this.#pins.next : undefined,
    ];
    return RestatePromise.race([
      ...new Set(this.#inFlight.values()),
      ...others.filter((other) => other !== undefined),
    ]);
  }

  take(event: Event): void {
    if (event.type === "begun") this.#takeStarted(event);
    if (event.type === "stop") this.isStopped = true;
    if (event.type === "recorded") this.#takeRecorded(event.wasKilled);
    if (event.type === "ordered") this.#takeOrdered(event.ids);
    if (event.type === "pins read") this.#leaveOut(this.#pins.takeReading(event.pinned));
    if (event.type === "pins due") this.#pins.forget();
    if (event.type === "unordered") {
      this.spans.add(event);
      // Its run has stopped: the sentinel was not ordered, and no other one will be.
      this.#inFlight.delete(event.target.index);
      this.isStopped = true;
    }
    if (event.type === "deployed") this.#takeDeployed(event);
  }

  /** Deploys that have not ended get invocations of their own; those that were not begun wait again. */
  #takeStarted({ targets, starts, isQuick, tookMs }: Extract<Event, { type: "begun" }>): void {
    this.#groups--;
    this.#unrecordedMs += tookMs;
    this.#isQuick &&= isQuick;
    targets.forEach((target, i) => {
      const { result, ...start } = starts[i] ?? {};
      if (i >= starts.length) this.#inFlight.delete(target.index);
      else if (result === undefined) this.#deploy(target, start);
      else this.take(toEvent(target, result));
    });
    this.#waiting.unshift(...targets.slice(starts.length));
  }

  #takeOrdered(ids: readonly string[]): void {
    this.#asking = undefined;
    this.#isAsked = true;
    for (const target of this.#waiting) if (ids.includes(target.id)) this.#deploy(target);
    this.#waiting = this.#waiting.filter(({ id }) => !ids.includes(id));
  }

  #takeDeployed(event: Extract<Event, { type: "deployed" }>): void {
    const { target, outcome, wasKilled } = event;
    this.spans.add(event);
    this.#inFlight.delete(target.index);
    this.#unrecorded.push(outcome);
    if (outcome.ok) this.#slots.giveBack();
    else warn(this.#ctx, event);
    if (wasKilled) abandon(this.#ctx, event);
  }

  /** Sentinels that a pin holds back have their result. */
  #leaveOut(reasons: ReadonlyMap<string, string>): void {
    for (const { id, index } of this.#waiting) {
      const reason = reasons.get(id);
      if (reason === undefined) continue;
      this.#unrecorded.push({ id, index, ok: false, reason, leftOut: true });
    }
    this.#waiting = this.#waiting.filter(({ id }) => !reasons.has(id));
  }

  /** Repeats a call of `record` that was killed. Results that it has written already change nothing. */
  #takeRecorded(wasKilled: boolean): void {
    this.#recording = undefined;
    if (!wasKilled || ++this.#killedRecords > recordAttempts) return;
    this.#unrecorded = [...this.#beingRecorded, ...this.#unrecorded];
    this.#isClosed = false;
  }
}
