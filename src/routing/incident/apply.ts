/** Applies a plan: a backup first, then one route after the other. */

import { invariant } from "#kernel/invariant.ts";
import type {
  ApplyRequest,
  Backup,
  Content,
  OwnedRoute,
  RoutePlan,
  RouteResult,
  SharedName,
} from "#routing/incident/contract.ts";
import { type ApplyStep, applyRoute } from "./apply-route.ts";
import type { RouteOrder } from "./decide.ts";
import { type Bearer, readDoubled } from "./doubled.ts";
import type { OpenCreations } from "./internal.ts";
import { hasChanges } from "./plan.ts";
import { pruneRoute } from "./prune-route.ts";
import { persist } from "./steps.ts";
import { readRoutes } from "./survey.ts";
import type { ApplyTools } from "./tools.ts";

export type ApplyOrder = {
  request: ApplyRequest;
  /** Routes of ours when the apply began, by name. */
  owned: Readonly<Record<string, OwnedRoute>>;
  startedAtMs: number;
  /**
   * By name, routes that earlier applies were about to make and said no more of. Absent: an older version
   * has begun this apply, which goes on with the steps that it had then.
   */
  creations?: OpenCreations;
};

export type ApplyAllTools = ApplyTools & {
  /** Takes `Backup` without what the caller knows itself. Answers why it was not kept, or null. */
  saveBackup: (details: Backup["alert_routes"]) => Promise<string | null>;
  /** Is told of each route as soon as it is dealt with. */
  note: (applied: ApplyStep) => Promise<void>;
};

export type AllApplied = { routes: RouteResult[]; doubled: SharedName[] };

type Job = { name: string; known: OwnedRoute | null; route?: RoutePlan };

/** What is to be looked at, in order: the plan's routes, then those that are pruned. */
export function listJobs({ request, owned }: Pick<ApplyOrder, "request" | "owned">): Job[] {
  const { plan, prune } = request;
  const jobs = plan.routes.map((route): Job => {
    return { name: route.name, known: owned[route.name] ?? null, route };
  });
  if (!prune || plan.of === "backup") return jobs;
  const names = new Set(jobs.map(({ name }) => name));
  // What became ours after the plan was made, it has shown to nobody.
  const isShown = (name: string) => !names.has(name) && plan.orphans.includes(name);
  const orphans = Object.entries(owned).filter(([name]) => isShown(name));
  return [...jobs, ...orphans.map(([name, known]): Job => ({ name, known }))];
}

/** Nothing is written before all that is there has been kept. */
export async function applyAll(order: ApplyOrder, tools: ApplyAllTools): Promise<AllApplied> {
  const jobs = listJobs(order);
  const { plan } = order.request;
  const writes = hasChanges(plan) || jobs.length > plan.routes.length;
  const failure = writes ? await backUp(order, tools) : null;
  const results: RouteResult[] = [];
  const bearers: Bearer[] = [];
  for (const job of jobs) {
    const made = results.flatMap(({ id }) => id ?? []);
    const applied =
      failure === null ? await applyJob(job, { order, made }, tools) : notTried(job, failure);
    await tools.note(applied);
    results.push(applied.result);
    const owned = applied.owned === undefined ? job.known : applied.owned;
    if (job.route !== undefined) bearers.push({ name: job.name, ours: owned?.id ?? null });
  }
  return { routes: results, doubled: await lookForDoubled(order, bearers, tools) };
}

async function backUp(
  { owned, creations }: ApplyOrder,
  tools: ApplyAllTools,
): Promise<string | null> {
  const known = creations === undefined ? [] : Object.values(owned).map(({ id }) => id);
  const read = await readRoutes(tools.service, tools, known);
  if (read.kind === "failed") return read.reason;
  return tools.saveBackup(read.value.map(({ detail }): Content => detail));
}

/** `made`: the routes that were dealt with so far. */
type Progress = { order: ApplyOrder; made: readonly string[] };

async function applyJob(
  { name, known, route }: Job,
  { order, made }: Progress,
  tools: ApplyTools,
): Promise<ApplyStep> {
  if (route !== undefined) {
    return applyRoute(toRouteOrder(route, known, { order, made, tools }), tools);
  }
  invariant(known !== null, "what is pruned is ours");
  return pruneRoute({ name, owned: known }, tools);
}

function toRouteOrder(
  route: RoutePlan,
  owned: OwnedRoute | null,
  { order, made, tools }: Progress & { tools: ApplyTools },
): RouteOrder {
  const { plan, adopt } = order.request;
  const creation = order.creations?.[route.name];
  const leftMs = ({ begun_at }: { begun_at: string }) =>
    Math.max(0, Date.parse(begun_at) + tools.listLagMs - order.startedAtMs);
  return {
    route,
    owned,
    adopt,
    of: plan.of,
    others: [...plan.routes.map(({ id }) => id), ...made].filter(
      (id) => id !== null && id !== route.id,
    ) as string[],
    open: creation === undefined ? null : { declared: creation.declared, leftMs: leftMs(creation) },
  };
}

/** What cannot be asked now, the look for drift that follows each apply tells. */
async function lookForDoubled(
  { creations }: ApplyOrder,
  bearers: Bearer[],
  tools: ApplyAllTools,
): Promise<SharedName[]> {
  if (creations === undefined) return [];
  const look = () => readDoubled(bearers, tools.service);
  const read = await persist(tools, "look-for-doubled", look);
  return read.kind === "done" ? read.value : [];
}

function notTried({ name }: Job, reason: string): ApplyStep {
  const message = `nothing was written, since no backup could be made: ${reason}`;
  return { result: { name, id: null, outcome: "failed", message } };
}
