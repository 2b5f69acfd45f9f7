/** Applies a plan: a backup first, then one route after the other. */
import { backoffMs } from "#kernel/async.ts";
import { invariant } from "#kernel/problem.ts";
import { type ApplyStep, type ApplyTools, applyRoute, failed, maxRounds } from "./apply-route.ts";
import type {
  ApplyRequest,
  Backup,
  Content,
  OwnedRoute,
  RoutePlan,
  RouteResult,
  SharedName,
} from "./contract.ts";
import { decidePrune, type PruneNext, type RouteOrder } from "./decide.ts";
import { type NameOwner, readDoubled } from "./doubled.ts";
import { retryWriteStep } from "./find-route.ts";
import type { OpenCreations } from "./internal.ts";
import { hasChanges } from "./plan.ts";
import { backoff, retryStep } from "./steps.ts";
import { readRoutes } from "./survey.ts";

export type ApplyOrder = {
  request: ApplyRequest;
  owned: Readonly<Record<string, OwnedRoute>>;
  startedAtMs: number;
  /** Routes, by name, that earlier applies were about to create, with an unknown outcome. */
  creations: OpenCreations;
};

export type ApplyAllTools = ApplyTools & {
  /** Saves the routes as a `Backup`. Returns the reason when they could not be saved, else null. */
  saveBackup: (details: Backup["alert_routes"]) => Promise<string | null>;
  /** Called with each route's result as soon as there is one. */
  record: (applied: ApplyStep) => Promise<void>;
};

export type ApplyAllResult = { routes: RouteResult[]; doubled: SharedName[] };

type Job = { name: string; known: OwnedRoute | null; route?: RoutePlan };

/** The routes to process, in order: the plan's, then those to prune. */
export function listJobs({ request, owned }: Pick<ApplyOrder, "request" | "owned">): Job[] {
  const { plan, prune } = request;
  const jobs = plan.routes.map((route): Job => {
    return { name: route.name, known: owned[route.name] ?? null, route };
  });
  if (!prune || plan.of === "backup") return jobs;
  const names = new Set(jobs.map(({ name }) => name));
  // Only orphans that the plan has shown: others became ours after it was made.
  const isShown = (name: string) => !names.has(name) && plan.orphans.includes(name);
  const orphans = Object.entries(owned).filter(([name]) => isShown(name));
  return [...jobs, ...orphans.map(([name, known]): Job => ({ name, known }))];
}

/** Saves a backup of all routes before anything is written. */
export async function applyAll(order: ApplyOrder, tools: ApplyAllTools): Promise<ApplyAllResult> {
  const jobs = listJobs(order);
  const { plan } = order.request;
  const writes = hasChanges(plan) || jobs.length > plan.routes.length;
  const failure = writes ? await backUp(order, tools) : null;
  const results: RouteResult[] = [];
  const owners: NameOwner[] = [];
  for (const job of jobs) {
    const made = results.flatMap(({ id }) => id ?? []);
    const applied =
      failure === null ? await applyJob(job, { order, made }, tools) : notTried(job, failure);
    await tools.record(applied);
    results.push(applied.result);
    const owned = applied.owned === undefined ? job.known : applied.owned;
    if (job.route !== undefined) owners.push({ name: job.name, ours: owned?.id ?? null });
  }
  return { routes: results, doubled: await pollDoubled(owners, tools) };
}

async function backUp({ owned }: ApplyOrder, tools: ApplyAllTools): Promise<string | null> {
  const known = Object.values(owned).map(({ id }) => id);
  const read = await readRoutes(tools.service, tools, known);
  if (read.kind === "failed") return read.reason;
  return tools.saveBackup(read.value.map(({ detail }): Content => detail));
}

/** `made`: ids of the routes that were processed so far. */
type Progress = { order: ApplyOrder; made: readonly string[] };

async function applyJob(
  { name, known, route }: Job,
  { order, made }: Progress,
  tools: ApplyTools,
): Promise<ApplyStep> {
  if (route !== undefined) {
    return applyRoute(toRouteOrder(route, known, { order, made, tools }), tools);
  }
  invariant(known !== null, "only routes of ours are pruned");
  return pruneRoute({ name, owned: known }, tools);
}

function toRouteOrder(
  route: RoutePlan,
  owned: OwnedRoute | null,
  { order, made, tools }: Progress & { tools: ApplyTools },
): RouteOrder {
  const { plan, adopt } = order.request;
  const creation = order.creations[route.name];
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

/** Empty when the service does not answer: the drift check that follows each apply reports them then. */
async function pollDoubled(owners: NameOwner[], tools: ApplyAllTools): Promise<SharedName[]> {
  const look = () => readDoubled(owners, tools.service);
  const read = await retryStep(tools, "look-for-doubled", look);
  return read.kind === "done" ? read.value : [];
}

function notTried({ name }: Job, reason: string): ApplyStep {
  const message = `nothing was written, since no backup could be made: ${reason}`;
  return { result: { name, id: null, outcome: "failed", message } };
}

/** Disables the route; deletes it if an earlier prune has disabled it. */
export async function pruneRoute(
  { name, owned }: { name: string; owned: OwnedRoute },
  tools: ApplyTools,
): Promise<ApplyStep> {
  const { service } = tools;
  const { id } = owned;
  let reason = "others keep changing it";
  for (let round = 0; round < maxRounds; round += 1) {
    const read = await retryStep(tools, "read-route", () => service.readRoute(id));
    if (read.kind === "failed") return failed(name, id, read.reason);
    const next = decidePrune(owned, read.value);
    if (next.kind === "end") return toPruned({ name, owned }, next);
    const { found } = next;
    const reply = await retryWriteStep(tools, `${next.kind}-route`, () =>
      next.kind === "delete"
        ? service.deleteRoute(id)
        : service.updateRoute(found, { ...found.content, enabled: false }),
    );
    if (reply.kind === "refused" && ![409, 412, 422].includes(reply.status)) {
      return failed(name, id, reply.reason);
    }
    if (reply.kind !== "done") {
      reason = reply.reason;
      await tools.steps.sleep(backoffMs(round, backoff));
    }
  }
  return failed(name, id, reason);
}

function toPruned(
  { name, owned }: { name: string; owned: OwnedRoute },
  { outcome, message, disabledDigest }: Extract<PruneNext, { kind: "end" }>,
): ApplyStep {
  const result = { name, id: owned.id, outcome, ...(message !== undefined && { message }) };
  if (outcome === "deleted") return { result, owned: null };
  if (disabledDigest === undefined) return { result };
  return { result, owned: { ...owned, disabled_digest: disabledDigest } };
}
