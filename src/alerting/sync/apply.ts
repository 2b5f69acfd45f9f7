/** Applies a plan: a backup first, then one route after the other. */
import type {
  ApplyRequest,
  Backup,
  Content,
  Owned,
  RoutePlan,
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

type Job = { name: string; known: Owned | null; route?: RoutePlan };

/** What is to be looked at, in order: the plan's routes, then those that are pruned. */
export function listJobs({ request, owned }: ApplyOrder): Job[] {
  const { plan, prune } = request;
  const jobs = plan.routes.map((route): Job => {
    return { name: route.name, known: owned[route.name] ?? null, route };
  });
  if (!prune || plan.of === "backup") return jobs;
  const names = new Set(jobs.map(({ name }) => name));
  const orphans = Object.entries(owned).filter(([name]) => !names.has(name));
  return [...jobs, ...orphans.map(([name, known]): Job => ({ name, known }))];
}

/** Nothing is written before all that is there has been kept. */
export async function applyAll(order: ApplyOrder, tools: ApplyAllTools): Promise<RouteResult[]> {
  const jobs = listJobs(order);
  const { plan } = order.request;
  const writes = hasChanges(plan) || jobs.length > plan.routes.length;
  const failure = writes ? await backUp(tools) : null;
  const results: RouteResult[] = [];
  for (const job of jobs) {
    const applied = failure === null ? await applyJob(job, order, tools) : notTried(job, failure);
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

async function applyJob(
  { name, known, route }: Job,
  { request: { plan, adopt } }: ApplyOrder,
  tools: ApplyTools,
): Promise<Applied> {
  if (route !== undefined) return applyRoute({ route, owned: known, adopt, of: plan.of }, tools);
  invariant(known !== null, "what is pruned is ours");
  return pruneRoute({ name, owned: known }, tools);
}

function notTried({ name }: Job, reason: string): Applied {
  const message = `nothing was written, since no backup could be made: ${reason}`;
  return { result: { name, id: null, outcome: "failed", message } };
}
