/** The table `rollout_promotions`. */
import type { Database } from "#kernel/database.ts";
import { createRowStore } from "#rollout/rows/store.ts";
import { refuseCircle } from "./circle.ts";
import { maxPromotions, type Promotion, type PromotionProblemCode } from "./contract.ts";

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
