/** Describes why a running rollout has not begun to deploy yet. */
import type { ObjectSharedContext } from "@restatedev/restate-sdk";
import { shortenImage } from "#kernel/image-reference.ts";
import { isRunning } from "#rollout/rules/transitions.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { inFlight } from "./answer.ts";
import { readSupersededHead } from "./superseded.ts";

/** undefined: it does not wait. */
export async function reasonOfWait(
  ctx: Pick<ObjectSharedContext, "get">,
  head: RolloutHead,
): Promise<string | undefined> {
  if (!isRunning(head.state)) return undefined;
  for (const rolloutId of Object.keys(head.drain ?? {})) {
    const isOwn = rolloutId === head.rolloutId;
    const before = isOwn ? head : await readSupersededHead(ctx, rolloutId);
    const deploys = before === null ? 0 : inFlight(before);
    if (before !== null && deploys > 0) return describeWait({ deploys, before, isOwn });
  }
  const isListing = !head.captured && head.wait?.waitingFor === undefined;
  return isListing ? "waits for the fleet's list" : undefined;
}

function describeWait(of: { deploys: number; before: RolloutHead; isOwn: boolean }): string {
  const { deploys, before, isOwn } = of;
  const counted = deploys === 1 ? "the one deploy" : `the ${deploys} deploys`;
  const has = deploys === 1 ? "has" : "have";
  return isOwn
    ? `waits until ${counted} in flight ${has} ended`
    : `waits until ${counted} ${has} ended that the rollout of ${shortenImage(before.image)} left in flight`;
}
