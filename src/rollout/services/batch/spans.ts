/** The spans of a batch and its deploys, which it sends once it has ended: their ids and times are in its journal. */
import type { Context } from "@restatedev/restate-sdk";
import type { DeployResult } from "#fleet/deploys/contract.ts";
import { type SpanTable, sendSpans } from "#kernel/trace-service.ts";
import { childOf, type Span, type Trace } from "#kernel/tracing.ts";
import type { BatchRun } from "#rollout/internal.ts";
import type { DeployOutcome, Target } from "#rollout/rules/outcome.ts";

/** `span`: its start and end, Unix ms; absent: it is not traced. */
export type DeployedTarget = { target: Target; span?: DeployResult["span"] };

/** The name of its span, from which the id is derived, too. */
const name = "deploy sentinel";

type Ended = {
  target: Target;
  span: NonNullable<DeployResult["span"]>;
  status: string;
  error?: string;
};

/** Collects the deploys of a batch that have ended. */
export class BatchSpans {
  readonly #ctx: Context;
  readonly #run: Omit<BatchRun, "targets">;
  /** The span of the batch; undefined: the rollout is not traced. */
  readonly trace: Trace | undefined;
  readonly #ended: Ended[] = [];

  constructor(ctx: Context, run: Omit<BatchRun, "targets">) {
    this.#ctx = ctx;
    this.#run = run;
    this.trace = run.trace && childOf(run.trace, ctx.request().id);
  }

  /** The span of a deploy, as its order has it. */
  traceOf({ index }: Target): { trace?: Trace } {
    return this.trace === undefined ? {} : { trace: childOf(this.trace, name, index) };
  }

  /** `outcome`: absent: it was not ordered. */
  add({ target, span, outcome }: DeployedTarget & { outcome?: DeployOutcome }): void {
    if (this.trace === undefined || span === undefined) return;
    if (outcome === undefined) this.#ended.push({ target, span, status: "not_ordered" });
    else if (outcome.ok) this.#ended.push({ target, span, status: "succeeded" });
    else this.#ended.push({ target, span, status: "failed", error: codeOf(outcome) });
  }

  /** Sends them, with that of the batch itself. One without deploys has none. */
  send(): void {
    const [ended, trace] = [this.#ended, this.trace];
    if (trace === undefined || ended.length === 0) return;
    const startMs = Math.min(...ended.map(({ span }) => span[0]));
    const alike = Map.groupBy(ended, ({ target, status }) => `${status} ${target.image}`);
    const own: Span = {
      ...{ trace, parent: this.#run.trace, name: "batch", kind: "internal", startMs },
      endMs: Math.max(...ended.map(({ span }) => span[1])),
      attributes: {
        "vedette.batch.number": this.#run.batch,
        "vedette.batch.size": ended.length,
        "vedette.batch.failed": ended.filter(({ status }) => status === "failed").length,
      },
    };
    const tables = [...alike.values()].map((some) => this.#toTable(some, trace, startMs));
    sendSpans(this.#ctx, { spans: [own], tables });
  }

  /** `ended`: of one image and status. */
  #toTable(ended: readonly Ended[], parent: Trace, startMs: number): SpanTable {
    const attributes = {
      "vedette.image": ended[0]?.target.image,
      "vedette.deploy.kind": this.#run.kind,
      "deployment.status": ended[0]?.status,
    };
    return {
      ...{ name, parent, kind: "internal", startMs, attributes, key: "vedette.sentinel.id" },
      rows: ended.map(({ target: { index, id }, span: [atMs, endMs], error }) => {
        const row = [index, atMs - startMs, endMs - atMs, id] as const;
        return error === undefined ? [...row] : [...row, error];
      }),
    };
  }
}

/** The reason's code, without the fleet's words. */
function codeOf({ reason = "" }: DeployOutcome): string {
  return /^[a-z_]{1,60}/.exec(reason)?.[0] ?? "_OTHER";
}
