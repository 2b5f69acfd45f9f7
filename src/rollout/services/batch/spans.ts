/** The spans of a batch and its deploys, which it sends once it has ended: their ids and times are in its journal. */
import type { Context } from "@restatedev/restate-sdk";
import type { DeployResult } from "#fleet/deploys/contract.ts";
import { sendSpans } from "#kernel/trace-service.ts";
import { childOf, type Span, type Trace } from "#kernel/tracing.ts";
import type { BatchRun } from "#rollout/internal.ts";
import type { DeployOutcome, Target } from "#rollout/rules/outcome.ts";

/** `span`: its start and end, Unix ms; absent: it is not traced. */
export type DeployedTarget = { target: Target; span?: DeployResult["span"] };

/** Collects the deploys of a batch that have ended. */
export class BatchSpans {
  readonly #ctx: Context;
  readonly #run: Omit<BatchRun, "targets">;
  /** The span of the batch; undefined: the rollout is not traced. */
  readonly #trace: Trace | undefined;
  readonly #spans: Span[] = [];

  constructor(ctx: Context, run: Omit<BatchRun, "targets">) {
    this.#ctx = ctx;
    this.#run = run;
    this.#trace = run.trace && childOf(run.trace, ctx.request().id);
  }

  /** The span of a deploy, as its order has it. */
  traceOf({ index }: Target): { trace?: Trace } {
    return this.#trace === undefined ? {} : { trace: childOf(this.#trace, "deploy", index) };
  }

  /** `outcome`: absent: it was not ordered. */
  add({ target, span, outcome }: DeployedTarget & { outcome?: DeployOutcome }): void {
    const { trace } = this.traceOf(target);
    if (trace === undefined || span === undefined) return;
    const [startMs, endMs] = span;
    const hasFailed = outcome?.ok === false;
    this.#spans.push({
      trace,
      parent: this.#trace,
      name: "deploy sentinel",
      kind: "internal",
      ...{ startMs, endMs },
      attributes: {
        "vedette.sentinel.id": target.id,
        "vedette.image": target.image,
        "vedette.deploy.kind": this.#run.kind,
        "deployment.status": outcome === undefined ? "not_ordered" : statusOf(hasFailed),
      },
      error: hasFailed ? codeOf(outcome) : undefined,
    });
  }

  /** Sends them, with that of the batch itself. One without deploys has none. */
  send(): void {
    const { trace: parent, batch } = this.#run;
    if (this.#trace === undefined || this.#spans.length === 0) return;
    const failed = this.#spans.filter(({ error }) => error !== undefined).length;
    const own: Span = {
      trace: this.#trace,
      parent,
      name: "batch",
      kind: "internal",
      startMs: Math.min(...this.#spans.map(({ startMs }) => startMs)),
      endMs: Math.max(...this.#spans.map(({ endMs }) => endMs)),
      attributes: {
        "vedette.batch.number": batch,
        "vedette.batch.size": this.#spans.length,
        "vedette.batch.failed": failed,
      },
    };
    sendSpans(this.#ctx, [own, ...this.#spans]);
  }
}

function statusOf(hasFailed: boolean): string {
  return hasFailed ? "failed" : "succeeded";
}

/** The reason's code, without the fleet's words. */
function codeOf({ reason = "" }: DeployOutcome): string {
  return /^[a-z_]{1,60}/.exec(reason)?.[0] ?? "_OTHER";
}
