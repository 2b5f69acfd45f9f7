/** Carries out replacements, one per sentinel, step by step until there is nothing left to do. */
import { performance } from "node:perf_hooks";
import pLimit from "p-limit";
import type { ReasonCode } from "#fleet/contract.ts";
import { UnreachableError } from "#fleet/drivers/driver.ts";
import { backoffMs, pause } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { type Change, carryOut, type Outcome } from "./changes.ts";
import type { Containers } from "./containers.ts";
import { type Engine, RefusedError } from "./engine.ts";
import { findOfDeploy } from "./family.ts";
import { gradeContainer, startFailure, type Verdict } from "./judge.ts";
import { planStep, type Step } from "./plan.ts";

export type ReplacementLimits = { stableMs: number; readyTimeoutMs: number };

type ReplacementParts = {
  engine: Engine;
  containers: Containers;
  limits: ReplacementLimits;
  log: Log;
};

/** A host is asked for so many changes at once. */
const changesAtOnce = 4;
const lookEveryMs = 300;
const retries = { firstMs: 200, longestMs: 5_000 };
const clockSlackMs = 30_000;
/** Somebody else changes the same containers all the time. */
const mostConflicts = 10;

type Job = { deployId: string; stopping: AbortController; ended: Promise<void> };

export function createReplacements(parts: ReplacementParts) {
  const jobs = new Map<string, Job>();
  const refusals = new Map<string, { deployId: string; error: RefusedError }>();
  const limit = pLimit(changesAtOnce);
  let isStopping = false;

  const begin = (name: string, deployId: string, verdict?: Verdict): Job => {
    const stopping = new AbortController();
    const work = new Replacement(name, deployId, { ...parts, limit, verdict });
    const job: Job = { deployId, stopping, ended: Promise.resolve() };
    job.ended = work
      .run(stopping.signal)
      .then(() => refusals.delete(name))
      .catch((err: unknown) => {
        if (stopping.signal.aborted) return;
        if (err instanceof RefusedError) refusals.set(name, { deployId, error: err });
        parts.log.error({ sentinel: name, err }, "container not replaced");
      })
      .then(() => {
        if (jobs.get(name) === job) jobs.delete(name);
      });
    jobs.set(name, job);
    return job;
  };

  const end = async (name: string) => {
    const job = jobs.get(name);
    job?.stopping.abort();
    await job?.ended;
  };

  return {
    /** Why the engine, or the proxy before it, has let this replacement go no further. */
    refusal(name: string, deployId: string): RefusedError | undefined {
      const last = refusals.get(name);
      return last?.deployId === deployId ? last.error : undefined;
    },
    /** Goes on with a deploy's replacement, unless this process does so already. */
    continue(name: string, deployId: string): void {
      if (isStopping || jobs.get(name)?.deployId === deployId) return;
      jobs.get(name)?.stopping.abort();
      begin(name, deployId);
    },
    /** Ends a replacement that another order follows: what it changed is put back. */
    async giveUp(name: string, deployId: string): Promise<void> {
      await end(name);
      if (isStopping) return;
      const verdict: Verdict = {
        status: "failed",
        reason: "cancelled: another deploy has followed",
      };
      await begin(name, deployId, verdict).ended;
    },
    async stop(): Promise<void> {
      isStopping = true;
      await Promise.all([...jobs.keys()].map(end));
    },
  };
}

type WorkParts = ReplacementParts & {
  limit: ReturnType<typeof pLimit>;
  verdict: Verdict | undefined;
};

class Replacement {
  readonly #name: string;
  readonly #deployId: string;
  readonly #parts: WorkParts;
  /** By container: the engine could not start it, and may not have kept why. */
  readonly #refusals = new Map<string, Verdict>();
  #conflicts = 0;
  #lastChange = "";
  #failures = 0;
  #awaySinceMs = 0;
  #waitsSinceMs: number | undefined;

  constructor(name: string, deployId: string, parts: WorkParts) {
    this.#name = name;
    this.#deployId = deployId;
    this.#parts = parts;
  }

  /** Resolves once nothing is left to do. While the engine is away it is asked again and again, for a while. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = await this.#advance(signal).catch((error: unknown) => this.#tolerate(error));
      if (next === "end") return;
      if (next !== "away") this.#failures = 0;
      if (next === "wait") await pause(lookEveryMs, signal);
      if (next === "away") await pause(backoffMs(this.#failures++, retries), signal);
    }
  }

  #tolerate(error: unknown): "away" {
    if (this.#failures === 0) this.#awaySinceMs = performance.now();
    const awayMs = performance.now() - this.#awaySinceMs;
    const isOver = awayMs > 2 * this.#parts.limits.readyTimeoutMs;
    if (isOver || !(error instanceof UnreachableError)) throw error;
    return "away";
  }

  async #advance(signal: AbortSignal): Promise<"wait" | "on" | "end"> {
    const { engine, limit } = this.#parts;
    // The family may have changed while others had their turn.
    const { step, madeId, outcome } = await limit(async () => {
      const look = await this.#look(signal);
      const { step: next } = look;
      const isLater = next.do === "wait" || next.do === "nothing" || next.do === "stop";
      return { ...look, outcome: isLater ? undefined : await carryOut(engine, next) };
    });
    if (step.do === "nothing") return "end";
    if (step.do === "wait") return this.#wait(madeId);
    this.#waitsSinceMs = undefined;
    // A container may take minutes to end, and the others do not wait for that. The call isn't ended by the signal: it
    // may be carried out all the same.
    return this.#judge(outcome ?? (await carryOut(engine, step)), step, madeId);
  }

  async #look(signal: AbortSignal): Promise<{ step: Step; madeId: string | undefined }> {
    const { containers, limits, verdict: given } = this.#parts;
    const { family, nowMs } = await containers.readFamily(this.#name, signal);
    const made = findOfDeploy(family, this.#deployId)?.container;
    const verdict =
      given ??
      this.#refusals.get(made?.Id ?? "") ??
      (made === undefined ? starting : gradeContainer(made, { ...limits, nowMs }));
    return { step: planStep(family, this.#deployId, verdict), madeId: made?.Id };
  }

  /** Not longer than by the engine's clock: that may stand still, or be set back. */
  #wait(madeId: string | undefined): "wait" | "on" {
    const { readyTimeoutMs, stableMs } = this.#parts.limits;
    this.#waitsSinceMs ??= performance.now();
    const waitedMs = performance.now() - this.#waitsSinceMs;
    if (madeId === undefined || waitedMs < readyTimeoutMs + stableMs + clockSlackMs) return "wait";
    return this.#fail(madeId, `${"progress_deadline" satisfies ReasonCode}: not healthy in time`);
  }

  #judge(outcome: Outcome, step: Change, madeId: string | undefined): "on" | "wait" {
    const change = JSON.stringify(step);
    const isRepeated = change === this.#lastChange;
    this.#lastChange = change;
    if (outcome.result === "done" && !isRepeated) return "on";
    const words = outcome.result === "done" ? "a change has no effect" : outcome.words;
    const isOfMade = step.do === "start" && step.id === madeId;
    if (outcome.result === "refused" && isOfMade) return this.#fail(step.id, startFailure(words));
    if (++this.#conflicts < mostConflicts) return "wait";
    if (madeId !== undefined && !this.#refusals.has(madeId)) {
      this.#conflicts = 0;
      const conflict = `${"conflict" satisfies ReasonCode}: ${words}`;
      return this.#fail(madeId, isOfMade ? startFailure(words) : conflict);
    }
    throw new Error(`${this.#name} cannot be brought to an end: ${words}`);
  }

  /** The old container comes back. */
  #fail(madeId: string, reason: string): "on" {
    this.#parts.log.warn({ sentinel: this.#name, reason }, "container given up");
    this.#refusals.set(madeId, { status: "failed", reason });
    return "on";
  }
}

const starting: Verdict = { status: "starting" };
