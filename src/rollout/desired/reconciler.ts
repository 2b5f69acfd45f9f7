/** `RolloutReconciler`: compares a fleet with its desired images, notifies of drift, and converges if the settings say so. */
import { isDeepStrictEqual } from "node:util";
import {
  CancelledError,
  iface,
  implement,
  type ObjectContext,
  type ObjectSharedContext,
  TerminalError,
} from "@restatedev/restate-sdk";
import { signActor } from "#kernel/actor.ts";
import { ProblemError } from "#kernel/problem.ts";
import { asTerminalError } from "#kernel/restate.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import {
  type RolloutProblemCode,
  type RolloutStateName,
  rolloutServiceName,
} from "#rollout/contract.ts";
import type { Fleets } from "#rollout/fleets.ts";
import type { GateTargets } from "#rollout/gates/kind.ts";
import { reconciler, rolloutObject } from "#rollout/internal.ts";
import type { Listed, RowStore } from "#rollout/row-store.ts";
import { isUnderWay } from "#rollout/rules/transitions.ts";
import { findByHand, findChanged, type HeldOnce, holdOf, recordHolds } from "./by-hand.ts";
import {
  type Convergence,
  planConvergence,
  recordTries,
  requestOf,
  type TriesByImage,
} from "./converge.ts";
import type { NewestRollout } from "./drift.ts";
import {
  composeDrift,
  composeHold,
  composeRefusal,
  describeCheck,
  type FoundDrift,
  maxNamed,
  newNoticeId,
  notify,
} from "./notices.ts";
import type { DesiredStore } from "./store.ts";
import { readCompleted, recordCompleted, type WatchParts } from "./watch-completed.ts";

/** `refusal`: null: the rollout was started. */
type Refusal = { image: string; refusal: string | null };

/** One object per fleet, so that one check at a time runs over all workers. A timed job calls it. */
export const rolloutReconciler = iface.object("vedette.v1.RolloutReconciler", {
  /** Answers with what it found, in words. */
  check: iface.json<Record<string, never>, string>(),
  /** Starts a rollout, and answers once it has ended or was refused. */
  converge: iface.shared.json<Convergence, null>(),
  /** Stores why the last rollout was refused. */
  recordRefusal: iface.json<Refusal, null>(),
});

/** The call of a check, for the timed job. */
export function driftCheckOf(fleet: string) {
  return { service: rolloutReconciler.name, key: fleet, handler: "check", request: {} };
}

type ReconcilerParts = WatchParts & {
  fleets: Fleets;
  store: Pick<DesiredStore, "compare" | "readImages">;
  pins: Pick<RowStore<Pin>, "add">;
  readPins: (fleet: string) => Promise<Listed<Pin>[]>;
  readGateTargets: () => Promise<Pick<GateTargets, "rows">>;
  /** The key with which the gateway signs callers' names. */
  actorKey: Uint8Array;
};

/** `request`: the rollout to be started. */
type Check = FoundDrift & {
  /** Sentinels that have left the image of the rollout in progress. */
  left: string[];
  held: number;
  tries: TriesByImage;
  heldOnce: HeldOnce;
  /** Holds of sentinels that were changed by hand, of which nobody was notified. */
  untold: Pin[];
  /** Why there is no hold for others; the next check tries again. */
  refusal: string | null;
  request?: Convergence;
};

/** Eight regular lists, each a minute after the one before. */
const defaultListMaxAgeMs = 8 * 60_000;

/** The time for which a failing database is asked again before the check fails. */
const retryForMs = 60_000;

export function createReconciler(parts: ReconcilerParts) {
  return implement(rolloutReconciler, {
    handlers: {
      check: (ctx) => check(ctx, parts),
      converge: (ctx, request) => converge(ctx, request, parts.actorKey),
      recordRefusal,
    },
    options: { ingressPrivate: true, journalRetention: 0, asTerminalError },
  });
}

async function check(ctx: ObjectContext, parts: ReconcilerParts): Promise<string> {
  const before = await readBefore(ctx);
  // It lists the fleet, which is compared then: a change by hand is held in the check that would call it a fault.
  const watched = before.isWatched ? await readCompleted(ctx, parts) : null;
  // It holds, too: both are the same when they are done again after a kill.
  const compare = () => compareNow(parts, ctx.key, before);
  const found = await ctx.run("compare-images", compare, { maxRetryDuration: retryForMs });
  if (watched !== null) await recordCompleted(ctx, watched, parts);
  if (found === null) return "not known now";
  for (const pin of found.untold) notify(ctx, composeHold({ fleet: ctx.key, pin }));
  await announce(ctx, { ...found, state: before.state });
  const { rolloutId } = before;
  if (rolloutId !== null && found.left.length > 0)
    await ctx.client(rolloutObject, ctx.key).stopForDrift({ rolloutId, ids: found.left });
  store(ctx, before, found);
  const refusal = found.count === 0 ? null : await ctx.get<string>("refusal");
  if (found.request !== undefined) {
    ctx.sendClient(rolloutReconciler, ctx.key).converge(found.request);
  }
  return describeCheck(found, refusal);
}

async function readBefore(ctx: ObjectContext): Promise<Before> {
  const status = await ctx.client(rolloutObject, ctx.key).Status({});
  return {
    state: status.state,
    rolloutId: status.rollout_id,
    isWatched: status.watch_until !== undefined,
    tries: (await ctx.get<TriesByImage>("tries")) ?? {},
    heldOnce: (await ctx.get<HeldOnce>("heldOnce")) ?? {},
  };
}

/** Writes only what has changed. */
function store(ctx: ObjectContext, before: Before, found: Check): void {
  const { tries, heldOnce, count, refusal: detail } = found;
  if (detail !== null) ctx.console.warn("changed sentinels not held", { fleet: ctx.key, detail });
  if (!isDeepStrictEqual(tries, before.tries)) ctx.set("tries", tries);
  if (!isDeepStrictEqual(heldOnce, before.heldOnce)) ctx.set("heldOnce", heldOnce);
  if (count === 0) ctx.clear("refusal");
}

/** `isWatched`: the rollout has completed, and nothing is converged that its watch has to see. */
type Before = {
  state: RolloutStateName;
  rolloutId: string | null;
  isWatched: boolean;
  tries: TriesByImage;
  heldOnce: HeldOnce;
};

async function compareNow(
  { fleets, store, pins: pinStore, readPins, readGateTargets }: ReconcilerParts,
  fleet: string,
  { state, rolloutId, isWatched, tries, heldOnce }: Before,
): Promise<Check | null> {
  const { onDrift = "report", listMaxAgeMs = defaultListMaxAgeMs } = fleets.get(fleet);
  const pins = await readPins(fleet);
  const nowMs = Date.now();
  const compared = await store.compare(fleet, {
    pins,
    nowMs,
    staleAfterMs: listMaxAgeMs,
    newest: rolloutId === null ? undefined : newestOf(rolloutId, state),
  });
  if (compared === null) return null;
  const { drifts: all, formers } = compared;
  const changed = onDrift === "converge" ? findChanged(all, heldOnce) : [];
  const images = changed.length === 0 ? [] : await store.readImages(fleet);
  const byHand = new Set(findByHand(changed, images).map(({ id }) => id));
  const drifts = all.map((one) => ({ ...one, isHeld: one.isHeld || byHand.has(one.id) }));
  const hold = holdOf(
    drifts.filter(({ id }) => byHand.has(id)),
    fleet,
  );
  const refusal = hold === undefined ? null : await addHold(pinStore, hold);
  const own = pins.filter((pin) => pin.added_by === reconciler);
  const holds = hold === undefined || refusal !== null ? own : [...own, hold];
  const confirmed = drifts.filter(({ isConfirmed }) => isConfirmed);
  const drifted = confirmed.filter(({ isHeld }) => !isHeld);
  const isPausing = onDrift === "report" && state === "in_progress";
  const plan =
    onDrift === "converge" && !isWatched
      ? planConvergence({ drifts, tries, state, nowMs })
      : undefined;
  return {
    drifted: drifted.slice(0, maxNamed).map(({ id, why, desired }) => ({ id, why, desired })),
    left: isPausing
      ? drifted
          .filter((one) => one.isUnderWay)
          .slice(0, 1_000)
          .map(({ id }) => id)
      : [],
    count: drifted.length,
    held: confirmed.length - drifted.length,
    tries: recordTries(tries, { drifts, plan, nowMs }),
    ...recordHolds(heldOnce, { drifts, holds }),
    refusal,
    ...(plan !== undefined && {
      request: requestOf(plan, {
        former: formers.get(plan.image),
        rows: (await readGateTargets()).rows,
      }),
    }),
  };
}

/** Holds sentinels until somebody releases them. Returns why not, as there are too many holds; null: they are held. */
async function addHold(pins: ReconcilerParts["pins"], hold: Pin): Promise<string | null> {
  try {
    await pins.add(hold, reconciler);
    return null;
  } catch (error) {
    if (error instanceof ProblemError) return error.message;
    throw error;
  }
}

function newestOf(id: string, state: RolloutStateName): NewestRollout {
  return { id, hasEnded: !isUnderWay(state), isRollingBack: state === "rolling_back" };
}

/** Notifies once when the first sentinel drifts and once when none does any more; a rollout may still change the latter. */
async function announce(
  ctx: ObjectContext,
  { state, ...found }: Check & { state: RolloutStateName },
): Promise<void> {
  const { key: fleet } = ctx;
  const announced = await ctx.get<string>("announced");
  const isFound = found.count > 0;
  if (isFound && announced !== null && announced === (await ctx.get<string>("notified"))) return;
  if (!isFound && (announced === null || isUnderWay(state))) return;
  const id = announced ?? newNoticeId(ctx);
  // First: a check that is killed here makes the same notice again.
  if (isFound) ctx.set("announced", id);
  notify(ctx, composeDrift({ id, fleet, found }));
  if (isFound) ctx.set("notified", id);
  else ctx.clear("announced");
}

/** Calls the public handler in a signed name, as the gateway does: the rollout is one like any other. */
async function converge(
  ctx: ObjectSharedContext,
  { starters: accounts, ...request }: Convergence,
  key: Uint8Array,
): Promise<null> {
  const body = JSON.stringify(request);
  const target = `${rolloutServiceName}/${ctx.key}/Rollout`;
  ctx.console.info("converging drifted sentinels", {
    image: request.image,
    ids: request.only?.ids,
  });
  const call = ctx.genericCall({
    service: rolloutServiceName,
    key: ctx.key,
    method: "Rollout",
    parameter: Buffer.from(body),
    headers: {
      "content-type": "application/json",
      ...signActor(reconciler, { target, body, accounts }, key),
    },
  });
  const refusal = await refusalOf(call);
  ctx.sendClient(rolloutReconciler, ctx.key).recordRefusal({ image: request.image, refusal });
  return null;
}

/** null: it was started, or somebody else's was at that moment. */
async function refusalOf(call: Promise<unknown>): Promise<string | null> {
  try {
    await call;
    return null;
  } catch (error) {
    if (!(error instanceof TerminalError) || error instanceof CancelledError) throw error;
    const isBusy = error.metadata?.["code"] === ("illegal_operation" satisfies RolloutProblemCode);
    return isBusy ? null : error.message;
  }
}

/** Notifies of each refusal once, while drift is announced, whose end ends it, however often it comes: a gate whose check is gone, or CI, lasts until somebody acts. */
async function recordRefusal(ctx: ObjectContext, { image, refusal }: Refusal): Promise<null> {
  const { key: fleet } = ctx;
  if (refusal === null) {
    ctx.clear("refusal");
    return null;
  }
  ctx.console.warn("drifted sentinels not brought back", { fleet, detail: refusal });
  const drift = await ctx.get<string>("announced");
  if (drift === null || (await ctx.get<string>("refusal")) === refusal) return null;
  ctx.set("refusal", refusal);
  notify(ctx, composeRefusal({ id: newNoticeId(ctx), drift, fleet, image, refusal }));
  return null;
}
