/** `Definitions`: the virtual object through which the definitions of a running program change. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import type {
  ApplyAnswer,
  ApplyRequest,
  DefinitionSource,
  DefinitionsProblemCode,
  PlanRequest,
  ShowAnswer,
  Warning,
} from "#definitions/contract.ts";
import { definitionsObject, type StartRequest } from "#definitions/internal.ts";
import { type DefinitionSet, emptySet } from "#definitions/rows/contract.ts";
import { type Finding, lintSet } from "#definitions/rules/lint.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { isChange, planApply } from "#definitions/rules/plan.ts";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept, untilDone } from "#kernel/restate.ts";
import type { Definitions } from "#monitor/contract.ts";
import type { DefinitionStore, Revision } from "./store.ts";

export type DefinitionsParts = {
  store: DefinitionStore;
  /** The definitions in force while nothing was ever applied. */
  standard: DefinitionSet;
  /** Has the checks follow the definitions in force. */
  notify: (ctx: ObjectContext, after: Definitions) => Promise<void>;
  /** Secrets that would go to where they do not belong, as far as this process knows the secrets. */
  findMisdirected: (set: DefinitionSet) => Finding[];
  /** Returns the doubts about definitions: checks that alert nobody and the like. `isBlind`: without looking at secrets. */
  warnOf: (set: DefinitionSet, isBlind: boolean) => Promise<Warning[]>;
  readActor: ReadActor;
};

const reading = databaseRead("read-definitions", {
  limitMs: 10_000,
  problem: "the definitions cannot be read",
});

export function createDefinitionsObject(parts: DefinitionsParts) {
  return implement(definitionsObject, {
    handlers: {
      Plan: (ctx, request) => plan(ctx, request, parts),
      Show: (ctx) => readNow(ctx, reading, () => show(parts)),
      Apply: async (ctx, request) => {
        const appliedBy = nameOf(parts.readActor(ctx));
        const current = await readCurrent(ctx, parts);
        return apply(ctx, { current, order: { ...request, source: "command", appliedBy } }, parts);
      },
      start: (ctx, request) => start(ctx, request, parts),
      finish: async (ctx) => {
        const current = await readCurrent(ctx, parts);
        await parts.notify(ctx, toMonitored(current?.set ?? parts.standard));
        return null;
      },
    },
    options: {
      journalRetention: 0,
      retryPolicy: untilDone,
      asTerminalError,
      handlers: { Plan: unkept, Show: unkept },
    },
  });
}

function readCurrent(ctx: ObjectContext, { store }: DefinitionsParts): Promise<Revision | null> {
  return readNow(ctx, reading, store.readCurrent);
}

/** Not everybody who may look learns which secrets are set: the gateway signs the names of the others alone. */
function plan(ctx: ObjectSharedContext, request: PlanRequest, parts: DefinitionsParts) {
  const isBlind = parts.readActor(ctx).isSigned !== true;
  return readNow(ctx, reading, async () => {
    const current = await parts.store.readCurrent();
    const { changes, next } = planApply(current?.set ?? emptySet, request);
    requireFit(next);
    const misdirected = isBlind ? [] : parts.findMisdirected(request.definitions);
    requireSound([...lintSet(next), ...misdirected]);
    const warnings = await parts.warnOf(next, isBlind);
    return { revision: current?.revision ?? 0, changes, warnings };
  });
}

async function show({ store, standard }: DefinitionsParts): Promise<ShowAnswer> {
  const current = await store.readCurrent();
  return {
    revision: current?.revision ?? 0,
    applied_at: current?.appliedAt ?? null,
    applied_by: current?.appliedBy ?? null,
    source: current?.source ?? "standard",
    definitions: (current?.set ?? standard) as unknown as ShowAnswer["definitions"],
  };
}

/** A start without a file does not undo what a file or a command applied. */
async function start(
  ctx: ObjectContext,
  request: StartRequest,
  parts: DefinitionsParts,
): Promise<ApplyAnswer> {
  const current = await readCurrent(ctx, parts);
  if (request.source === "standard" && current !== null && current.source !== "standard") {
    return { revision: current.revision, changes: [] };
  }
  return apply(ctx, { current, order: { ...request, appliedBy: "start" } }, parts);
}

type Order = ApplyRequest & { source: DefinitionSource; appliedBy: string };

/** Before anything was applied no row is in force, so that each check is told of its own. */
async function apply(
  ctx: ObjectContext,
  { current, order }: { current: Revision | null; order: Order },
  parts: DefinitionsParts,
): Promise<ApplyAnswer> {
  const revision = current?.revision ?? 0;
  const { base_revision: base = revision, source, appliedBy } = order;
  if (base !== revision) throw moved(revision);
  const { changes, next } = planApply(current?.set ?? emptySet, order);
  requireFit(next);
  // A start has read them from its file, or has the standard ones.
  if (source === "command") {
    requireSound([
      ...lintSet(next),
      ...(await ctx.run("find-misdirected", () => parts.findMisdirected(order.definitions))),
    ]);
  }
  if (!changes.some(isChange)) return { revision, changes };
  const applyId = ctx.request().id;
  const written = { revision: revision + 1, applyId, source, appliedBy, set: next, changes };
  const isOurs = await ctx.run("write-definitions", () => parts.store.write(written));
  if (!isOurs) throw moved(revision + 1);
  await parts.notify(ctx, toMonitored(next));
  ctx.console.info("definitions applied", { revision: revision + 1, by: appliedBy, source });
  return { revision: revision + 1, changes };
}

/** A third of what Restate takes of a step: with more, nothing could be read or applied any more. */
const mostBytes = 10_000_000;

function requireFit(set: DefinitionSet): void {
  if (Buffer.byteLength(JSON.stringify(set)) <= mostBytes) return;
  const detail = "the rows are more than 10 MB together: shorten them, or remove some (--prune)";
  throw new ProblemError<DefinitionsProblemCode>({
    status: 400,
    code: "invalid_definitions",
    detail,
  });
}

/** Callers need not be our command line, and rows of the program that stay may not fit the new ones. */
function requireSound(findings: readonly Finding[]): void {
  const lines = findings.map(({ section, key, field = [], message }) =>
    [[section, key, ...field].join("."), message].join(": "),
  );
  if (lines.length === 0) return;
  const more = lines.length > namedFaults ? [`and ${lines.length - namedFaults} more`] : [];
  const detail = [...lines.slice(0, namedFaults), ...more].join("; ");
  throw new ProblemError<DefinitionsProblemCode>({
    status: 400,
    code: "invalid_definitions",
    detail,
  });
}

const namedFaults = 10;

function moved(revision: number) {
  return new ProblemError<DefinitionsProblemCode>({
    status: 409,
    code: "definitions_moved",
    detail: `revision ${revision} is in force meanwhile: plan again, and apply that`,
  });
}
