/**
 * Brings one route to where its plan wants it. Every step may be repeated after a crash: the version
 * guards an update. A creation is written down first, and one of which nobody knows what came of it is
 * tried again only when a list that is no longer behind does not show it.
 */
import { backoffMs } from "#kernel/backoff.ts";
import type { Content, OwnedRoute, RouteResult } from "#routing/incident/contract.ts";
import { decide, isMadeByUs, type RouteOrder } from "./decide.ts";
import { diffContent } from "./diff.ts";
import { findRoute, type RouteQuery } from "./find-route.ts";
import { contentOver, isReached } from "./goal.ts";
import type { FoundRoute } from "./service.ts";
import { backoff, persist } from "./steps.ts";
import type { ApplyTools } from "./tools.ts";
import { isFinal, type WriteOutcome, writeRoute } from "./write-route.ts";

/** `owned`: what is known of it from now on; null: it is none of ours any more; absent: as before. */
export type ApplyStep = { result: RouteResult; owned?: OwnedRoute | null };

/** How often a route is read and written again when others write it too. */
export const mostRounds = 8;

export async function applyRoute(order: RouteOrder, tools: ApplyTools): Promise<ApplyStep> {
  let soFar: Trials = { tried: null, waitMs: 0 };
  for (let round = 0; round < mostRounds; round += 1) {
    const outcome = await readAndWrite(order, soFar, tools);
    if ("result" in outcome) return outcome;
    soFar = outcome;
    await tools.steps.sleep(Math.max(backoffMs(round, backoff), soFar.waitMs));
  }
  const reason = soFar.last?.reason ?? "others write it all the time";
  return failed(order.route.name, order.route.id, reason);
}

/** `waitMs`: before that a look would not tell. */
type Trials = { tried: "created" | "updated" | null; waitMs: number; last?: WriteOutcome };

async function readAndWrite(
  order: RouteOrder,
  { tried, last }: Trials,
  tools: ApplyTools,
): Promise<ApplyStep | Trials> {
  const { route, owned, open, others } = order;
  const wanted: RouteQuery = { name: route.name, id: route.id, oursId: owned?.id ?? null, others };
  const read = await persist(tools, "read-route", () => findRoute(tools.service, wanted));
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

type Read = { tried: Trials["tried"]; found: FoundRoute | null; wanted: RouteQuery };

async function decideAndWrite(
  order: RouteOrder,
  { tried, found, wanted }: Read,
  tools: ApplyTools,
): Promise<ApplyStep | Trials> {
  const next = decide(order, { found, tried });
  if (next.kind === "end") return toApplied(order, next, found);
  const attempt = next.kind === "create" ? "created" : "updated";
  const written = await writeRoute({ next, wanted, declared: order.route.declared }, tools);
  if (written.kind === "done") return verify(order, attempt, await readBack(written, order, tools));
  const isUnsure = attempt === "created" && written.kind === "unsure";
  return { tried: attempt, waitMs: isUnsure ? tools.listLagMs : 0, last: written };
}

/** One that an apply of ours made and then came to its end before it could say so. */
function ownedAsMade(order: RouteOrder, found: FoundRoute | null): RouteOrder {
  if (found === null || !isMadeByUs(order, found)) return order;
  return { ...order, owned: toOwned(found, order.open?.declared ?? {}) };
}

/** A backup is put back to the letter: what is there then counts, not what a write was answered with. */
async function readBack(
  { found }: Extract<WriteOutcome, { kind: "done" }>,
  { of }: RouteOrder,
  tools: ApplyTools,
): Promise<FoundRoute> {
  if (of !== "backup" || tools.intend === undefined) return found;
  const read = await persist(tools, "read-back", () => tools.service.readRoute(found.id));
  return read.kind === "done" && read.value !== null ? read.value : found;
}

/** What the service has made of it: it may have kept something else than it was told. */
function verify(order: RouteOrder, outcome: "created" | "updated", found: FoundRoute): ApplyStep {
  const { declared, name } = order.route;
  const goal = { of: order.of, declared };
  if (isReached(found.content, goal)) return toApplied(order, { outcome }, found);
  const differs = diffContent(found.content, contentOver(found.content, goal));
  const paths = differs.map(({ path }) => path).join(", ");
  const reason = `it was written, and the incident service keeps something else at ${paths}`;
  const { result } = failed(name, found.id, reason);
  const applied = { result: { ...result, differs } };
  if (outcome === "updated") return applied;
  // Ours all the same: the next plan goes on from there. Of a backup, if it was ours before.
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
    // A backup says what was there, not whose it is; one of ours that it has made again stays ours.
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
