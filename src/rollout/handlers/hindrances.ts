/** Asks whether other fleets keep an image from this one. */
import type { ObjectSharedContext } from "@restatedev/restate-sdk";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { rolloutObject } from "#rollout/internal.ts";
import { findHindrance } from "#rollout/rules/promotion.ts";

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
