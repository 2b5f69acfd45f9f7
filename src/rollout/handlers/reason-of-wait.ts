/** Why a rollout or rollback that runs does not get further. */
import type { ObjectSharedContext } from "@restatedev/restate-sdk";
import { inTime } from "#kernel/async.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { formatDuration, formatUtc } from "#kernel/time.ts";
import type { RolloutFleet } from "#rollout/fleets.ts";
import { rolloutObject } from "#rollout/internal.ts";
import { findHindrance } from "#rollout/rules/start.ts";
import { isRunning } from "#rollout/rules/transitions.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { inFlight } from "./answer.ts";
import { readSupersededHead } from "./superseded.ts";

const readLimits = { limitMs: 1_000, otherwise: null };

/** undefined: it does not wait. */
export async function reasonOfWait(
  ctx: Pick<ObjectSharedContext, "get" | "run">,
  head: RolloutHead,
  { readProblem, deployTimeoutMs }: RolloutFleet,
): Promise<string | undefined> {
  if (!isRunning(head.state)) return undefined;
  for (const rolloutId of Object.keys(head.drain ?? {})) {
    const isOwn = rolloutId === head.rolloutId;
    const before = isOwn ? head : await readSupersededHead(ctx, rolloutId);
    const deploys = before === null ? 0 : inFlight(before);
    if (before !== null && deploys > 0) return describeWait({ deploys, before, isOwn });
  }
  if (!isListing(head) && inFlight(head) === 0) return undefined;
  const problem = await ctx.run("read-list-problem", () => inTime(readProblem, readLimits));
  return describeSilence(head, problem, deployTimeoutMs);
}

function isListing({ captured, wait }: RolloutHead): boolean {
  return !captured && wait?.waitingFor === undefined;
}

/** `problem`: why the fleet's newest list has failed; null: it has not. undefined: nothing is waited for. */
export function describeSilence(
  head: RolloutHead,
  problem: string | null,
  deployTimeoutMs: number,
) {
  if (isListing(head)) {
    const next = "it starts by itself once the fleet can be listed, and pauses if that takes long";
    return `waits for the fleet's list${problem === null ? "" : `: ${problem}; ${next}`}`;
  }
  if (problem === null) return undefined;
  const { startedAt = "" } = head.waves[head.currentWave - 1] ?? {};
  const firstMs = Date.parse(startedAt) + deployTimeoutMs;
  const first = head.state === "in_progress" ? `, the first at ${formatUtc(firstMs)}` : "";
  return `the fleet cannot be listed (${problem}): a deploy in flight that it does not answer fails after ${formatDuration(deployTimeoutMs)}${first}`;
}

function describeWait(of: { deploys: number; before: RolloutHead; isOwn: boolean }): string {
  const { deploys, before, isOwn } = of;
  const [counted, has] =
    deploys === 1 ? ["the one deploy", "has"] : [`the ${deploys} deploys`, "have"];
  return isOwn
    ? `waits until ${counted} in flight ${has} ended`
    : `waits until ${counted} ${has} ended that the rollout of ${shortenImage(before.image)} left in flight`;
}

/** Asks whether other fleets keep an image from this one. */
export type Promotions = {
  /** The fleets after which this one takes an image. */
  before: (fleet: string) => Promise<string[]>;
  /** True if the newest rollout of the image to the fleet has completed. */
  hasCompleted: (fleet: string, image: string) => Promise<boolean>;
};

type PromotionQuery = { image: string; after?: string[] | undefined; lost?: string[] | undefined };

const completed = databaseRead("read-completed", {
  limitMs: 5_000,
  problem: "the rollouts of other fleets cannot be read",
});

/** One sentence for each fleet of `after` that does, and each of `lost`, which the settings have no more. Their rollouts are asked, since history comes after them. */
export async function findHindrances(
  ctx: ObjectSharedContext,
  { hasCompleted }: Promotions,
  { image, after = [], lost = [] }: PromotionQuery,
): Promise<string[]> {
  const hindrances = lost.map(
    (fleet) => `the settings have no fleet ${fleet} any more (vedette promotions remove)`,
  );
  for (const fleet of after) {
    const status = await ctx.client(rolloutObject, fleet).Status({});
    const isInHistory = await readNow(ctx, completed, () => hasCompleted(fleet, image));
    const hindrance = findHindrance(image, { fleet, status, hasCompleted: isInHistory });
    if (hindrance !== undefined) hindrances.push(hindrance);
  }
  return hindrances;
}
