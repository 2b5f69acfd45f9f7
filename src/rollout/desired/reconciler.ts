/** `RolloutReconciler`: compares a fleet with its desired images, notifies of drift, and converges if the settings say so. */
import {
  CancelledError,
  iface,
  implement,
  type ObjectContext,
  type ObjectSharedContext,
  TerminalError,
} from "@restatedev/restate-sdk";
import type { z } from "zod";
import { notices, type PostedNotice, topicKey } from "#alerts/contract.ts";
import { fleetOption } from "#fleet/contract.ts";
import { signActor } from "#kernel/actor.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { asTerminalError } from "#kernel/restate.ts";
import { cleanText, someOf } from "#kernel/text.ts";
import {
  type RolloutProblemCode,
  type RolloutRequest,
  type RolloutStateName,
  rolloutServiceName,
  singletonKey,
} from "#rollout/contract.ts";
import type { Fleets } from "#rollout/fleets.ts";
import type { GateTargets } from "#rollout/gates/kind.ts";
import { rolloutObject } from "#rollout/internal.ts";
import type { ChannelEvent } from "#rollout/rules/messages.ts";
import { isUnderWay } from "#rollout/rules/transitions.ts";
import type { ReadPins } from "#rollout/services/capture.ts";
import {
  type HeldDrift,
  planConvergence,
  recordTries,
  requestOf,
  type TriesByImage,
} from "./converge.ts";
import { type DesiredStore, reconciler } from "./store.ts";

/** `refusal`: null: the rollout was started. */
type Refusal = { image: string; refusal: string | null };

/** One object per fleet, so that one check at a time runs over all workers. A timed job calls it. */
export const rolloutReconciler = iface.object("vedette.v1.RolloutReconciler", {
  /** Answers with what it found, in words. */
  check: iface.json<Record<string, never>, string>(),
  /** Starts a rollout, and answers once it has ended or was refused. */
  converge: iface.shared.json<RolloutRequest, null>(),
  /** Stores why the last rollout was refused. */
  recordRefusal: iface.json<Refusal, null>(),
});

/** The call of a check, for the timed job. */
export function driftCheckOf(fleet: string) {
  return { service: rolloutReconciler.name, key: fleet, handler: "check", request: {} };
}

type ReconcilerParts = {
  fleets: Fleets;
  store: Pick<DesiredStore, "compare">;
  readPins: ReadPins;
  readGateTargets: () => Promise<Pick<GateTargets, "rows">>;
  /** The key with which the gateway signs callers' names. */
  actorKey: Uint8Array;
};

/** `drifted`: sentinels that no pin holds. `request`: the rollout to be started. */
type Check = {
  drifted: Pick<HeldDrift, "id" | "why" | "desired">[];
  count: number;
  held: number;
  tries: TriesByImage;
  request?: RolloutRequest;
};

/** Eight regular lists, each a minute after the one before. */
const defaultListMaxAgeMs = 8 * 60_000;

/** Sentinels that a message names. */
const maxNamed = 5;

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
  const { key: fleet } = ctx;
  const { state, rollout_id } = await ctx.client(rolloutObject, fleet).Status({});
  const tries = (await ctx.get<TriesByImage>("tries")) ?? {};
  const compare = () => compareNow(parts, fleet, { state, rolloutId: rollout_id, tries });
  const found = await ctx.run("compare-images", compare, { maxRetryDuration: retryForMs });
  if (found === null) return "not known now";
  await announce(ctx, { ...found, state });
  ctx.set("tries", found.tries);
  if (found.count === 0) ctx.clear("refusal");
  const refusal = found.count === 0 ? null : await ctx.get<string>("refusal");
  if (found.request !== undefined) {
    ctx.sendClient(rolloutReconciler, ctx.key).converge(found.request);
  }
  return describeCheck(found, refusal);
}

function describeCheck({ count, held, request }: Check, refusal: string | null): string {
  const parts = [
    `${count} drifted`,
    ...(held === 0 ? [] : [`${held} held`]),
    ...(request === undefined ? [] : ["converging"]),
    ...(refusal === null ? [] : [`the last rollout was refused: ${refusal}`]),
  ];
  return parts.join(", ");
}

type Before = { state: RolloutStateName; rolloutId: string | null; tries: TriesByImage };

async function compareNow(
  { fleets, store, readPins, readGateTargets }: ReconcilerParts,
  fleet: string,
  { state, rolloutId, tries }: Before,
): Promise<Check | null> {
  const { onDrift = "report", listMaxAgeMs = defaultListMaxAgeMs } = fleets.get(fleet);
  const pins = await readPins(fleet);
  const nowMs = Date.now();
  const compared = await store.compare(fleet, {
    pins,
    nowMs,
    staleAfterMs: listMaxAgeMs,
    newest: rolloutId === null ? undefined : { id: rolloutId, hasEnded: !isUnderWay(state) },
  });
  if (compared === null) return null;
  const { drifts, formers } = compared;
  const confirmed = drifts.filter(({ isConfirmed }) => isConfirmed);
  const drifted = confirmed.filter(({ isHeld }) => !isHeld);
  const plan =
    onDrift === "converge" ? planConvergence({ drifts, tries, state, nowMs }) : undefined;
  return {
    drifted: drifted.slice(0, maxNamed).map(({ id, why, desired }) => ({ id, why, desired })),
    count: drifted.length,
    held: confirmed.length - drifted.length,
    tries: recordTries(tries, { drifts, plan, nowMs }),
    ...(plan !== undefined && {
      request: requestOf(plan, {
        former: formers.get(plan.image),
        rows: (await readGateTargets()).rows,
      }),
    }),
  };
}

/** Notifies once when the first sentinel drifts and once when none does any more; a rollout may still change the latter. */
async function announce(
  ctx: ObjectContext,
  { state, ...found }: Check & { state: RolloutStateName },
): Promise<void> {
  const { key: fleet } = ctx;
  const announced = await ctx.get<string>("announced");
  const isFound = found.count > 0;
  if (isFound === (announced !== null) || (!isFound && isUnderWay(state))) return;
  const id = announced ?? newNoticeId(ctx);
  notify(ctx, composeDrift({ id, fleet, found }));
  if (isFound) ctx.set("announced", id);
  else ctx.clear("announced");
}

const noticePrefix = "drift-";

function newNoticeId(ctx: ObjectContext): string {
  return `${noticePrefix}${ctx.rand.uuidv4()}`;
}

/** True if a notice with this in the place of a rollout's id is about drift, between two rollouts. */
export function isDriftNotice(rolloutId: string): boolean {
  return rolloutId.startsWith(noticePrefix);
}

function notify(ctx: ObjectContext, notice: z.infer<typeof PostedNotice>): void {
  const topic = topicKey("sentinel_rollout", ctx.key === singletonKey ? undefined : ctx.key);
  ctx.sendClient(notices, topic).post(notice);
}

function ofFleetWords(fleet: string): string {
  return fleet === singletonKey ? "" : ` (${fleet})`;
}

/** `id`: the same for drift and its end. */
function composeDrift({
  id,
  fleet,
  found: { drifted, count },
}: {
  id: string;
  fleet: string;
  found: Check;
}): z.infer<typeof PostedNotice> {
  const isFound = count > 0;
  const named = drifted.map((one) => `${one.id} (${one.why})`);
  const images = [...new Set(drifted.map(({ desired }) => shortenImage(desired)))];
  return {
    id: `${id}#${isFound ? "found" : "gone"}`,
    title: `${isFound ? "Sentinels have drifted" : "No sentinel drifts any more"}${ofFleetWords(fleet)}`,
    tone: isFound ? "danger" : "success",
    lines: isFound
      ? [
          `Another image than the desired one runs on ${someOf(named, maxNamed, count)}.`,
          `To see all: vedette fleet drift${fleetOption(fleet)}`,
        ]
      : ["Every sentinel that is not held runs its desired image."],
    fields: [{ name: "Image", value: images.join(", ") || "as desired" }],
    rollout: { id, fleet, event: isFound ? "drift found" : "drift gone" } satisfies RolloutNote,
  };
}

type RolloutNote = { id: string; fleet: string; event: ChannelEvent };

/** Calls the public handler in a signed name, as the gateway does: the rollout is one like any other. */
async function converge(
  ctx: ObjectSharedContext,
  request: RolloutRequest,
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
      ...signActor(reconciler, { target, body }, key),
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

/** Notifies of each refusal once, however often it comes: a gate whose check is gone, or CI, lasts until somebody acts. */
async function recordRefusal(ctx: ObjectContext, { image, refusal }: Refusal): Promise<null> {
  const { key: fleet } = ctx;
  if (refusal === null) {
    ctx.clear("refusal");
    return null;
  }
  ctx.console.warn("drifted sentinels not brought back", { fleet, detail: refusal });
  if ((await ctx.get<string>("refusal")) === refusal) return null;
  ctx.set("refusal", refusal);
  notify(ctx, composeRefusal({ id: newNoticeId(ctx), fleet, image, refusal }));
  return null;
}

type Refused = { id: string; fleet: string; image: string; refusal: string };

function composeRefusal({ id, fleet, image, refusal }: Refused): z.infer<typeof PostedNotice> {
  return {
    id: `${id}#refused`,
    title: `Drifted sentinels cannot be brought back${ofFleetWords(fleet)}`,
    tone: "danger",
    lines: [
      `Their rollout was refused: ${cleanText(refusal, 1_000)}`,
      `It is tried again later. To bring them back by hand: vedette fleet drift${fleetOption(fleet)}, then a rollout of those ids.`,
    ],
    fields: [{ name: "Image", value: shortenImage(image) }],
    rollout: { id, fleet, event: "drift found" } satisfies RolloutNote,
  };
}
