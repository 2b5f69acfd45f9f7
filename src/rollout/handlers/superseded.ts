/** The state of superseded rollouts: a later one began while deploys of theirs were in flight. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import { together } from "#kernel/restate.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import {
  type Batch,
  type Outcome,
  type RolloutHead,
  readBatch,
  readHead,
  readOutcome,
  writeHead,
  writeOutcome,
} from "#rollout/state.ts";
import { toStatus } from "./answer.ts";

type Reader = Pick<ObjectSharedContext, "get">;
type Writer = Pick<ObjectContext, "set" | "clear">;

/** The number of stored ones. Callers that still wait for an older one are referred to history. */
const savedLimit = 50;

/** Key `supersededIds`: the rollouts that are kept, the oldest first. */
const idsKey = "supersededIds";
const headKey = (id: string) => `superseded:${id}`;
const batchKey = (id: string, n: number) => `late:${id}:batch:${n}`;
const outcomeKey = (id: string, n: number) => `late:${id}:outcome:${n}`;

/** A stored rollout with access to its state, whether it is the current one or a superseded one. */
export type SavedRollout = {
  head: RolloutHead;
  isCurrent: boolean;
  write: (head: RolloutHead) => void;
  batch: (n: number) => Promise<Batch | null>;
  outcome: (n: number) => Promise<Outcome | null>;
  writeOutcome: (n: number, outcome: Outcome) => void;
};

/** null: it is not kept. */
export function readSupersededHead(ctx: Reader, id: string): Promise<RolloutHead | null> {
  return ctx.get<RolloutHead>(headKey(id));
}

/** null: it is neither the current one nor kept. */
export async function readRollout(ctx: ObjectContext, id: string): Promise<SavedRollout | null> {
  const current = await readHead(ctx);
  return current?.rolloutId === id ? currentRollout(ctx, current) : readSaved(ctx, id);
}

/** null: it is not kept. */
export async function readSaved(ctx: ObjectContext, id: string): Promise<SavedRollout | null> {
  const head = await readSupersededHead(ctx, id);
  return head === null ? null : supersededRollout(ctx, head);
}

function supersededRollout(ctx: ObjectContext, head: RolloutHead): SavedRollout {
  const { rolloutId: id } = head;
  return {
    head,
    isCurrent: false,
    write: (next) => ctx.set(headKey(id), next),
    batch: (n) => ctx.get<Batch>(batchKey(id, n)),
    outcome: (n) => ctx.get<Outcome>(outcomeKey(id, n)),
    writeOutcome: (n, outcome) => {
      ctx.set(outcomeKey(id, n), outcome);
    },
  };
}

export function currentRollout(ctx: ObjectContext, head: RolloutHead): SavedRollout {
  return {
    head,
    isCurrent: true,
    write: (next) => writeHead(ctx, next),
    batch: (n) => readBatch(ctx, n),
    outcome: (n) => readOutcome(ctx, n),
    writeOutcome: (n, outcome) => writeOutcome(ctx, n, outcome),
  };
}

/** All that are kept, the current one first. */
export async function readRollouts(ctx: ObjectContext): Promise<SavedRollout[]> {
  const current = await readHead(ctx);
  const ids = (await readIds(ctx)).filter((id) => id !== current?.rolloutId);
  const heads = await together(ids.map((id) => readSupersededHead(ctx, id)));
  const known = current === null ? [] : [currentRollout(ctx, current)];
  const kept = heads.filter((head) => head !== null);
  return [...known, ...kept.map((head) => supersededRollout(ctx, head))];
}

/** Stores the rollout that is about to be superseded: its head, and its open batches with results. */
export async function saveSuperseded(ctx: ObjectContext, head: RolloutHead): Promise<void> {
  const { succeededIds: _s, failedIds: _f, previousImages: _p, ...compact } = head;
  const id = head.rolloutId;
  for (const n of Object.keys(head.openBatches).map(Number)) {
    ctx.set(batchKey(id, n), await readBatch(ctx, n));
    ctx.set(outcomeKey(id, n), await readOutcome(ctx, n));
  }
  ctx.set(headKey(id), compact);
  const ids = [...(await readIds(ctx)).filter((other) => other !== id), id];
  for (const gone of ids.slice(0, -savedLimit)) await forget(ctx, gone);
  ctx.set(idsKey, ids.slice(-savedLimit));
}

async function forget(ctx: ObjectContext, id: string): Promise<void> {
  const head = await ctx.get<RolloutHead>(headKey(id));
  for (const n of Object.keys(head?.openBatches ?? {}).map(Number)) clearLate(ctx, id, n);
  ctx.clear(headKey(id));
}

/** Deletes a batch of a superseded rollout that has ended, because nothing reads it any more. */
export function clearLate(ctx: Writer, id: string, n: number): void {
  ctx.clear(batchKey(id, n));
  ctx.clear(outcomeKey(id, n));
}

/** The status of a rollout that is not the current one and whose state may be deleted. */
export function statusOfForgotten(rolloutId: string): RolloutStatus {
  const reason = "other rollouts have followed; History has how this one ended";
  return { ...toStatus(null), rollout_id: rolloutId, state: "cancelled", reason };
}

async function readIds(ctx: Reader): Promise<string[]> {
  return (await ctx.get<string[]>(idsKey)) ?? [];
}
