import { iface } from "@restatedev/restate-sdk";
import type { Database } from "#kernel/database.ts";
import { ProblemError } from "#kernel/problem.ts";
import { createRowStore } from "#rollout/row-store.ts";
import {
  maxPromotions,
  type Promotion,
  type PromotionProblemCode,
  promotionHandlers,
  promotionsName,
} from "./contract.ts";

export const rolloutPromotions = iface.service(
  promotionsName,
  {
    List: iface.schemas({ ...promotionHandlers.List, description: "The promotions, by id." }),
    Add: iface.schemas({
      ...promotionHandlers.Add,
      description: "Adds a promotion; it holds for rollouts that are not started yet.",
    }),
    Remove: iface.schemas({ ...promotionHandlers.Remove, description: "Removes a promotion." }),
  },
  { description: "Which fleet takes an image only after another one." },
);

export type PromotionStore = ReturnType<typeof createPromotionStore>;

export function createPromotionStore(database: Database) {
  return createRowStore<Promotion, PromotionProblemCode>(database, {
    table: "rollout_promotions",
    columns: {
      id: ({ id }) => id,
      fleet: ({ fleet }) => fleet,
      after: ({ after }) => after,
      reason: ({ reason }) => reason,
    },
    fromColumns: (row) => row as Promotion,
    most: maxPromotions,
    word: "promotion",
    check: refuseCircle,
    codes: {
      exists: "promotion_exists",
      tooMany: "too_many_promotions",
      unknown: "unknown_promotion",
    },
  });
}

/** Throws `promotion_circle` (409) when no rollout could be started any more. */
export function refuseCircle(known: readonly Promotion[], added: Promotion): void {
  const before = new Set([added.after]);
  for (const fleet of before) {
    for (const one of known) if (one.fleet === fleet) before.add(one.after);
  }
  if (!before.has(added.fleet)) return;
  throw new ProblemError<PromotionProblemCode>({
    status: 409,
    code: "promotion_circle",
    detail: `${added.after} waits for ${added.fleet} already: neither could start a rollout`,
  });
}
