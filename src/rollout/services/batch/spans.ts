/** The spans of a batch and its deploys, which it sends once it has ended: their ids and times are in its journal. */
import type { Context } from "@restatedev/restate-sdk";
import type { DeployResult } from "#fleet/deploys/contract.ts";
import { type SpanTable, sendSpans } from "#kernel/trace-service.ts";
import { childOf, memberOf, type Span, type Trace } from "#kernel/tracing.ts";
import type { BatchRun } from "#rollout/internal.ts";
import type { DeployOutcome, Target } from "#rollout/rules/outcome.ts";

/** `span`: its start and end, Unix ms; absent: it is not traced. */
export type DeployedTarget = { target: Target; span?: DeployResult["span"] };

/** Collects the deploys of a batch that have ended. */
export class BatchSpans {
  readonly #ctx: Context;
  readonly #run: Omit<BatchRun, "targets">;
  /** The span of the batch; undefined: the rollout is not traced. */
  readonly trace: Trace | undefined;
  /** The deploys of one image that have ended alike share a table. */
  readonly #tables = new Map<string, SpanTable>();

  constructor(ctx: Context, run: Omit<BatchRun, "targets">) {
    this.#ctx = ctx;
    this.#run = run;
    this.trace = run.trace && childOf(run.trace, ctx.request().id);
  }

  /** The span of a deploy, as its order has it. */
  traceOf({ index }: Target): { trace?: Trace } {
    return this.trace === undefined ? {} : { trace: memberOf(this.trace, index) };
  }

  /** `outcome`: absent: it was not ordered. */
  add({ target, span, outcome }: DeployedTarget & { outcome?: DeployOutcome }): void {
    const { trace: parent } = this;
    if (parent === undefined || span === undefined) return;
    const { index, id, image } = target;
    const error = outcome?.ok === false ? codeOf(outcome) : undefined;
    const ended = error === undefined ? "succeeded" : "failed";
    const status = outcome === undefined ? "not_ordered" : ended;
    const attributes = {
      "vedette.image": image,
      "vedette.deploy.kind": this.#run.kind,
      "deployment.status": status,
    };
    const of = { name: "deploy sentinel", kind: "internal", parent, error, attributes } as const;
    const key = `${image} ${error ?? status}`;
    const table: SpanTable = this.#tables.get(key) ?? {
      ...of,
      key: "vedette.sentinel.id",
      rows: [],
    };
    table.rows.push([index, ...span, id]);
    this.#tables.set(key, table);
  }

  /** Sends them, with that of the batch itself. One without deploys has none. */
  send(): void {
    const tables = [...this.#tables.values()];
    if (this.trace === undefined || tables.length === 0) return;
    const failed = tables.flatMap(({ error, rows }) => (error === undefined ? [] : rows));
    const rows = tables.flatMap((table) => table.rows);
    const own: Span = {
      ...{ trace: this.trace, parent: this.#run.trace, name: "batch", kind: "internal" },
      startMs: Math.min(...rows.map(([, startMs]) => startMs)),
      endMs: Math.max(...rows.map(([, , endMs]) => endMs)),
      attributes: {
        "vedette.batch.number": this.#run.batch,
        "vedette.batch.size": rows.length,
        "vedette.batch.failed": failed.length,
      },
    };
    sendSpans(this.#ctx, { spans: [own], tables });
  }
}

/** The reason's code, without the fleet's words. */
function codeOf({ reason = "" }: DeployOutcome): string {
  return /^[a-z_]{1,60}/.exec(reason)?.[0] ?? "_OTHER";
}
