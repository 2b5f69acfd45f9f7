/**
 * Applies the plan of one route. Every step may be repeated after a crash. An update is guarded by the
 * route's version. A creation is recorded before it is sent; when its outcome is unknown it is retried
 * only after the list had time to catch up (`listLagMs`) and still does not show the route.
 */
import { backoffMs } from "#kernel/async.ts";
import type { Content, OwnedRoute, RouteResult } from "./contract.ts";
import {
  contentOver,
  decide,
  isMadeByUs,
  isReached,
  type RouteAction,
  type RouteOrder,
} from "./decide.ts";
import { diffContent } from "./diff.ts";
import { findRoute, type RouteQuery, retryWrite, retryWriteStep, toAttempt } from "./find-route.ts";
import { type FoundRoute, readWritten, type Service } from "./service.ts";
import { backoff, retryStep, type Tools } from "./steps.ts";
import type { Reply } from "./transport.ts";

export type ApplyTools = Tools & {
  service: Service;
  /** A route may be missing in lists for so long after its creation. */
  listLagMs: number;
  /** Records that a route is about to be created. */
  intend: (creation: { name: string; declared: Content }) => Promise<void>;
};

/** `owned`: the route's new record of ownership; null: no longer ours; absent: unchanged. */
export type ApplyStep = { result: RouteResult; owned?: OwnedRoute | null };

/** Reading and writing a route are repeated so often when others write it at the same time. */
export const maxRounds = 8;

export async function applyRoute(order: RouteOrder, tools: ApplyTools): Promise<ApplyStep> {
  let state: RoundState = { tried: null, waitMs: 0 };
  for (let round = 0; round < maxRounds; round += 1) {
    const outcome = await readAndWrite(order, state, tools);
    if ("result" in outcome) return outcome;
    state = outcome;
    await tools.steps.sleep(Math.max(backoffMs(round, backoff), state.waitMs));
  }
  const reason = state.last?.reason ?? "others keep changing it";
  return failed(order.route.name, order.route.id, reason);
}

/** `waitMs`: for how long reading it again would not show the result of the write. */
type RoundState = { tried: "created" | "updated" | null; waitMs: number; last?: WriteOutcome };

async function readAndWrite(
  order: RouteOrder,
  { tried, last }: RoundState,
  tools: ApplyTools,
): Promise<ApplyStep | RoundState> {
  const { route, owned, open, others } = order;
  const wanted: RouteQuery = { name: route.name, id: route.id, oursId: owned?.id ?? null, others };
  const read = await retryStep(tools, "read-route", () => findRoute(tools.service, wanted));
  if (read.kind === "failed") return failed(route.name, wanted.id ?? null, read.reason);
  const found = read.value;
  if (last !== undefined && isFinal(last, found)) {
    return failed(route.name, route.id, last.reason);
  }
  if (found === null && tried === null && open !== null && open.leftMs > 0) {
    return { tried: "created", waitMs: open.leftMs };
  }
  return decideAndWrite(ownedAsMade(order, found), { tried, found, wanted }, tools);
}

type Read = { tried: RoundState["tried"]; found: FoundRoute | null; wanted: RouteQuery };

async function decideAndWrite(
  order: RouteOrder,
  { tried, found, wanted }: Read,
  tools: ApplyTools,
): Promise<ApplyStep | RoundState> {
  const next = decide(order, { found, tried });
  if (next.kind === "end") return toApplied(order, next, found);
  const attempt = next.kind === "create" ? "created" : "updated";
  const written = await writeRoute({ next, wanted, declared: order.route.declared }, tools);
  if (written.kind === "done") return verify(order, attempt, await readBack(written, order, tools));
  const isUnsure = attempt === "created" && written.kind === "unsure";
  return { tried: attempt, waitMs: isUnsure ? tools.listLagMs : 0, last: written };
}

/** Marks the found route as owned if an earlier apply created it and ended before it could record that. */
function ownedAsMade(order: RouteOrder, found: FoundRoute | null): RouteOrder {
  if (found === null || !isMadeByUs(order, found)) return order;
  return { ...order, owned: toOwned(found, order.open?.declared ?? {}) };
}

/** A backup is restored exactly: the route is read again, because a write's answer may differ from it. */
async function readBack(
  { found }: Extract<WriteOutcome, { kind: "done" }>,
  { of }: RouteOrder,
  tools: ApplyTools,
): Promise<FoundRoute> {
  if (of !== "backup" || tools.intend === undefined) return found;
  const read = await retryStep(tools, "read-back", () => tools.service.readRoute(found.id));
  return read.kind === "done" && read.value !== null ? read.value : found;
}

/** Compares the written route with its goal: the service may have stored something else. */
function verify(order: RouteOrder, outcome: "created" | "updated", found: FoundRoute): ApplyStep {
  const { declared, name } = order.route;
  const goal = { of: order.of, ...order.route };
  if (isReached(found.content, goal)) return toApplied(order, { outcome }, found);
  const differs = diffContent(found.content, contentOver(found.content, goal));
  const paths = differs.map(({ path }) => path).join(", ");
  const reason = `it was written, but the incident service stored something else at ${paths}`;
  const { result } = failed(name, found.id, reason);
  const applied = { result: { ...result, differs } };
  if (outcome === "updated") return applied;
  // Created, so it is ours and the next plan continues from it; from a backup only if it was ours before.
  const isBackup = order.of === "backup";
  const made = isBackup ? toApplied(order, { outcome }, found).owned : toOwned(found, declared);
  return made === undefined ? applied : { ...applied, owned: made };
}

function toApplied(
  { route, owned, adopt, of }: RouteOrder,
  end: Pick<RouteResult, "outcome" | "message" | "difference">,
  found: FoundRoute | null,
): ApplyStep {
  const { outcome, message, difference } = end;
  const result = {
    name: route.name,
    id: found?.id ?? route.id,
    outcome,
    ...(message !== undefined && { message }),
    ...(difference !== undefined && { difference }),
  };
  const isDone = outcome === "created" || outcome === "updated" || outcome === "in_step";
  if (!isDone || found === null) return { result };
  if (of === "backup") {
    // A backup does not record ownership: only a route of ours that it has created again is still ours.
    const isRemade = outcome === "created" && owned !== null;
    return isRemade ? { result, owned: { ...owned, id: found.id } } : { result };
  }
  const isOurs = outcome !== "in_step" || adopt || owned?.id === found.id;
  return isOurs ? { result, owned: toOwned(found, route.declared) } : { result };
}

function toOwned({ id }: FoundRoute, declared: Content): OwnedRoute {
  return { id, declared, disabled_digest: null };
}

export function failed(name: string, id: string | null, message: string): ApplyStep {
  return { result: { name, id, outcome: "failed", message } };
}

/** Writes a route, and returns what is known about the outcome. */
type WriteOutcome =
  | { kind: "done"; found: FoundRoute; reason: string }
  /** `version`: the one that the write was to replace; null: the route was to be created. */
  | { kind: "refused" | "unsure"; version: number | null; status?: number; reason: string };

/** The service has no status for a conflict: a refusal is final when the route has not changed since. */
function isFinal(last: WriteOutcome, found: FoundRoute | null): boolean {
  if (last.kind !== "refused") return false;
  if ((found?.version ?? null) !== last.version) return false;
  // The service may also refuse with these two while it is busy with another write.
  return last.status !== 409 && last.status !== 412;
}

type Write = { next: Exclude<RouteAction, { kind: "end" }>; wanted: RouteQuery; declared: Content };

async function writeRoute(
  { next, wanted, declared }: Write,
  tools: ApplyTools,
): Promise<WriteOutcome> {
  if (next.kind === "create") {
    const creation = { wanted, content: next.content, declared };
    return toWritten(await createRoute(creation, tools), { id: null, version: null });
  }
  const { found, content } = next;
  const update = () => tools.service.updateRoute(found, content);
  return toWritten(await retryWriteStep(tools, "update-route", update), found);
}

/** The route that was written. `id` null: it was to be created, and the answer has its id. */
type Target = { id: string | null; version: number | null };

function toWritten(reply: Reply, { id, version }: Target): WriteOutcome {
  if (reply.kind === "done") {
    const found = readWritten(reply.body);
    const reason = "unexpected answer from the incident service";
    return found === undefined || (id !== null && found.id !== id)
      ? { kind: "unsure", version, reason }
      : { kind: "done", found, reason };
  }
  const { reason } = reply;
  if (reply.kind !== "refused") return { kind: "unsure", version, reason };
  return { kind: "refused", version, status: reply.status, reason };
}

type Creation = { wanted: RouteQuery; content: Content; declared: Content };

/** A process that was suspended for longer may have been taken for dead, and replaced by another. */
const freshMs = 5_000;

/** There is no idempotency key, and lists lag: never sent again from here. `lost`: a later list shows if it exists. */
async function createRoute(
  { wanted, content, declared }: Creation,
  tools: ApplyTools,
): Promise<Reply> {
  const { service, steps, intend } = tools;
  await intend({ name: wanted.name, declared });
  return retryWrite(tools, async () => {
    const begun = { atMs: Number.NEGATIVE_INFINITY };
    // A replay after a crash does not run this step again, so `begun` stays unset and tells it apart.
    await steps.run("begin-creation", async () => {
      begun.atMs = performance.now();
      return null;
    });
    return steps.run("create-route", async () => {
      if (performance.now() - begun.atMs > freshMs) return toAttempt(interrupted);
      return toAttempt(await service.createRoute(content));
    });
  });
}

const interrupted: Reply = { kind: "lost", reason: "Vedette ended while it created the route" };
