/** Carries out replacements, one per sentinel, step by step until there is nothing left to do. */
import { performance } from "node:perf_hooks";
import pLimit from "p-limit";
import { UnreachableError } from "#fleet/drivers/driver.ts";
import { backoffMs } from "#kernel/backoff.ts";
import type { Log } from "#kernel/log.ts";
import { pause } from "#kernel/pause.ts";
import { carryOut, type Outcome } from "./changes.ts";
import type { Containers } from "./containers.ts";
import type { Engine } from "./engine.ts";
import { findOfDeploy } from "./family.ts";
import { judgeContainer, startFailure, type Verdict } from "./judge.ts";
import { planStep } from "./plan.ts";

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
/** Somebody else changes the same containers all the time. */
const mostConflicts = 10;

type Job = { deployId: string; stopping: AbortController; ended: Promise<void> };

export function createReplacements(parts: ReplacementParts) {
  const jobs = new Map<string, Job>();
  const limit = pLimit(changesAtOnce);
  let isStopping = false;

  const begin = (name: string, deployId: string, verdict?: Verdict): Job => {
    const stopping = new AbortController();
    const work = new Replacement(name, deployId, { ...parts, limit, verdict });
    const job: Job = { deployId, stopping, ended: Promise.resolve() };
    job.ended = work
      .run(stopping.signal)
      .catch((err: unknown) => {
        if (!stopping.signal.aborted) {
          parts.log.error({ sentinel: name, err }, "container not replaced");
        }
      })
      .finally(() => {
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

  constructor(name: string, deployId: string, parts: WorkParts) {
    this.#name = name;
    this.#deployId = deployId;
    this.#parts = parts;
  }

  /** Resolves once nothing is left to do. While the engine is away it is asked again and again, for a while. */
  async run(signal: AbortSignal): Promise<void> {
    const untilMs = performance.now() + 2 * this.#parts.limits.readyTimeoutMs;
    for (let failures = 0; !signal.aborted; ) {
      try {
        const next = await this.#advance(signal);
        if (next === "end") return;
        failures = 0;
        if (next === "wait") await pause(lookEveryMs, signal);
      } catch (error) {
        const mayReturn = error instanceof UnreachableError && performance.now() < untilMs;
        if (!mayReturn) throw error;
        await pause(backoffMs(failures++, retries), signal);
      }
    }
  }

  async #advance(signal: AbortSignal): Promise<"wait" | "on" | "end"> {
    const { engine, containers, limits, limit } = this.#parts;
    const { family, nowMs } = await containers.readFamily(this.#name, signal);
    const made = findOfDeploy(family, this.#deployId)?.container;
    const verdict =
      this.#parts.verdict ??
      this.#refusals.get(made?.Id ?? "") ??
      (made === undefined ? starting : judgeContainer(made, { ...limits, nowMs }));
    const step = planStep(family, this.#deployId, verdict);
    if (step.do === "nothing") return "end";
    if (step.do === "wait") return "wait";
    // Not ended by the signal: a call that is cut off may be carried out all the same.
    const outcome = await limit(() => carryOut(engine, step));
    return this.#judge(outcome, step.id, made?.Id);
  }

  #judge(outcome: Outcome, id: string, madeId: string | undefined): "on" | "wait" {
    if (outcome.result === "done") return "on";
    const { result, words } = outcome;
    if (result === "refused" && id === madeId) return this.#fail(id, startFailure(words));
    if (++this.#conflicts < mostConflicts) return "wait";
    if (madeId !== undefined && !this.#refusals.has(madeId)) {
      this.#conflicts = 0;
      return this.#fail(madeId, `conflict: ${words}`);
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
