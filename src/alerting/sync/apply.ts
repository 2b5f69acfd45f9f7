/** Applies a plan: a backup first, then one route after the other. */
import type {
  ApplyRequest,
  Backup,
  Content,
  Owned,
  RouteResult,
} from "#alerting/routes-sync-contract.ts";
import { invariant } from "#kernel/invariant.ts";
import { type Applied, type ApplyTools, applyRoute } from "./apply-route.ts";
import { hasChanges } from "./plan.ts";
import { pruneRoute } from "./prune-route.ts";
import { readRoutes } from "./survey.ts";

export type ApplyOrder = {
  request: ApplyRequest;
  /** Routes of ours when the apply began, by name. */
  owned: Readonly<Record<string, Owned>>;
};

export type ApplyAllTools = ApplyTools & {
  /** Takes `Backup` without what the caller knows itself. Answers why it was not kept, or null. */
  saveBackup: (details: Backup["alert_routes"]) => Promise<string | null>;
  /** Is told of each route as soon as it is dealt with. */
  note: (applied: Applied) => Promise<void>;
};

/** What is to be looked at: rows, then what is pruned. */
export function namesToApply({ request, owned }: ApplyOrder): string[] {
  const { plan, prune } = request;
  const names = plan.routes.map(({ name }) => name);
  if (!prune || plan.of === "backup") return names;
  return [...names, ...Object.keys(owned).filter((name) => !names.includes(name))];
}

/** Nothing is written before all that is there has been kept. */
export async function applyAll(order: ApplyOrder, tools: ApplyAllTools): Promise<RouteResult[]> {
  const names = namesToApply(order);
  const { plan } = order.request;
  const writes = hasChanges(plan) || names.length > plan.routes.length;
  const failure = writes ? await backUp(tools) : null;
  const results: RouteResult[] = [];
  for (const name of names) {
    const applied = failure === null ? await applyOne(name, order, tools) : notTried(name, failure);
    await tools.note(applied);
    results.push(applied.result);
  }
  return results;
}

async function backUp(tools: ApplyAllTools): Promise<string | null> {
  const read = await readRoutes(tools.service, tools);
  if (read.kind === "failed") return read.reason;
  return tools.saveBackup(read.value.map(({ detail }): Content => detail));
}

async function applyOne(
  name: string,
  { request, owned }: ApplyOrder,
  tools: ApplyTools,
): Promise<Applied> {
  const { plan, adopt } = request;
  const known = owned[name] ?? null;
  const route = plan.routes.find((planned) => planned.name === name);
  if (route !== undefined) return applyRoute({ route, owned: known, adopt, of: plan.of }, tools);
  invariant(known !== null, "what is pruned is ours");
  return pruneRoute({ name, owned: known }, tools);
}

function notTried(name: string, reason: string): Applied {
  const message = `nothing was written, since no backup could be made: ${reason}`;
  return { result: { name, id: null, outcome: "failed", message } };
}
