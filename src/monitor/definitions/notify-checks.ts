import { isDeepStrictEqual } from "node:util";
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { DefinitionsChange } from "#monitor/contract.ts";
import { drillObject } from "#monitor/drills/internal.ts";
import { apiCheckObject, heartbeatObject } from "#monitor/internal.ts";

/** Call it after the write: each object reads its row itself. Unchanged checks are untouched, gone alerts resolved. */
export function notifyChecks(
  ctx: ObjectContext,
  { before, known, after }: DefinitionsChange,
): void {
  const apiChecks = compare(before?.apiChecks ?? [], after.apiChecks, known.apiChecks);
  const heartbeats = compare(before?.heartbeats ?? [], after.heartbeats, known.heartbeats);
  // Removed ones come first: a check may become a heartbeat of the same id, whose events must not overtake it.
  for (const id of apiChecks.gone) ctx.sendClient(apiCheckObject, id).retire({});
  for (const id of heartbeats.gone) ctx.sendClient(heartbeatObject, id).retire({});
  for (const id of apiChecks.changed) ctx.sendClient(apiCheckObject, id).ensure({});
  for (const id of heartbeats.changed) ctx.sendClient(heartbeatObject, id).redefine({});
  // A drill that is gone finds out when it is due.
  const drills = new Set(after.heartbeats.filter(({ drill }) => drill).map(({ id }) => id));
  for (const id of heartbeats.changed.filter((one) => drills.has(one))) {
    ctx.sendClient(drillObject, id).start({});
  }
}

type Row = { id: string };

function compare(before: readonly Row[], after: readonly Row[], known: readonly string[]) {
  const old = new Map(before.map((row) => [row.id, row]));
  const kept = new Set(after.map(({ id }) => id));
  return {
    changed: after.filter((row) => !isDeepStrictEqual(old.get(row.id), row)).map(({ id }) => id),
    gone: [...new Set([...old.keys(), ...known])].filter((id) => !kept.has(id)),
  };
}
