/** Tells the objects of checks that their definitions changed. */

import { isDeepStrictEqual } from "node:util";
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { Definitions } from "#monitor/contract.ts";
import { apiCheckObject, heartbeatObject } from "#monitor/internal.ts";

type Change = {
  /** null: what the objects know is unknown, so that all are told. */
  before: Definitions | null;
  after: Definitions;
};

/**
 * Each object reads its definition itself, from the database: call it after they were written. The state of
 * a check that did not change is not touched; the alert of one that is gone is resolved.
 */
export function tellChecks(ctx: ObjectContext, { before, after }: Change): void {
  const apiChecks = compare(before?.apiChecks ?? [], after.apiChecks);
  const heartbeats = compare(before?.heartbeats ?? [], after.heartbeats);
  // What is gone first: a check may become a heartbeat of the same id, whose events must not overtake it.
  for (const id of apiChecks.gone) ctx.sendClient(apiCheckObject, id).retire({});
  for (const id of heartbeats.gone) ctx.sendClient(heartbeatObject, id).retire({});
  for (const id of apiChecks.changed) ctx.sendClient(apiCheckObject, id).ensure({});
  for (const id of heartbeats.changed) ctx.sendClient(heartbeatObject, id).redefine({});
}

type Row = { id: string };

function compare(before: readonly Row[], after: readonly Row[]) {
  const known = new Map(before.map((row) => [row.id, row]));
  const kept = new Set(after.map(({ id }) => id));
  return {
    changed: after.filter((row) => !isDeepStrictEqual(known.get(row.id), row)).map(({ id }) => id),
    gone: before.map(({ id }) => id).filter((id) => !kept.has(id)),
  };
}
