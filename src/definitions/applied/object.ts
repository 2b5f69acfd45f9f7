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
import type { Definitions, DefinitionsChange, KnownChecks } from "#monitor/contract.ts";
import type { DefinitionStore, Revision } from "./store.ts";

export type DefinitionsParts = {
  store: DefinitionStore;
  /** The definitions in force while nothing was ever applied. */
  standard: DefinitionSet;
  /** Notifies the checks whose definition differs, and those that are gone. */
  notify: (ctx: ObjectContext, change: DefinitionsChange) => Promise<void>;
  /** Secrets that would go to where they do not belong, as far as this process knows the secrets. */
  findMisdirected: (set: DefinitionSet) => Finding[];
  /** Returns the doubts about definitions: checks that alert nobody and the like. */
  warnOf: (set: DefinitionSet) => Promise<Warning[]>;
  readActor: ReadActor;
};

/** The `applyId` of the revision of which every check was notified. */
const notifiedKey = "told";

/** The checks that may know a definition: also of a revision that was announced half-way, or that Postgres lost. */
const knownKey = "known";

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
        await notifyRest(ctx, await readCurrent(ctx, parts), parts);
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

function plan(ctx: ObjectSharedContext, request: PlanRequest, parts: DefinitionsParts) {
  return readNow(ctx, reading, async () => {
    const current = await parts.store.readCurrent();
    const { changes, next } = planApply(current?.set ?? emptySet, request);
    requireFit(next);
    requireSound([...lintSet(next), ...parts.findMisdirected(request.definitions)]);
    const warnings = await parts.warnOf(next);
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
    await notifyRest(ctx, current, parts);
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
  if (!changes.some(isChange)) {
    await notifyRest(ctx, current, parts);
    return { revision, changes };
  }
  const applyId = ctx.request().id;
  const wereNotified = current !== null && (await ctx.get<string>(notifiedKey)) === current.applyId;
  const written = { revision: revision + 1, applyId, source, appliedBy, set: next, changes };
  const isOurs = await ctx.run("write-definitions", () => parts.store.write(written));
  if (!isOurs) throw moved(revision + 1);
  const before = wereNotified ? toMonitored(current.set) : null;
  await notifyOf(ctx, { before, revision: { applyId, set: next } }, parts);
  ctx.console.info("definitions applied", { revision: revision + 1, by: appliedBy, source });
  return { revision: revision + 1, changes };
}

/** After an apply that was ended half-way, or a database that was restored, what checks know is unknown. */
async function notifyRest(
  ctx: ObjectContext,
  current: Revision | null,
  parts: DefinitionsParts,
): Promise<void> {
  if (current === null || (await ctx.get<string>(notifiedKey)) === current.applyId) return;
  await notifyOf(ctx, { before: null, revision: current }, parts);
}

type Notification = { before: Definitions | null; revision: Pick<Revision, "applyId" | "set"> };

async function notifyOf(
  ctx: ObjectContext,
  { before, revision: { applyId, set } }: Notification,
  { notify }: DefinitionsParts,
): Promise<void> {
  const after = toMonitored(set);
  const known = (await ctx.get<KnownChecks>(knownKey)) ?? { apiChecks: [], heartbeats: [] };
  const told = idsOf(after);
  ctx.set<KnownChecks>(knownKey, {
    apiChecks: [...new Set([...known.apiChecks, ...told.apiChecks])],
    heartbeats: [...new Set([...known.heartbeats, ...told.heartbeats])],
  });
  await notify(ctx, { before, known, after });
  ctx.set<KnownChecks>(knownKey, told);
  ctx.set(notifiedKey, applyId);
}

function idsOf({ apiChecks, heartbeats }: Definitions): KnownChecks {
  return { apiChecks: apiChecks.map(({ id }) => id), heartbeats: heartbeats.map(({ id }) => id) };
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
