/** `RolloutPromotions`: manages which fleet takes an image only after which other one. */
import { implement } from "@restatedev/restate-sdk";
import { unkept } from "#kernel/retry-policy.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { rolloutPromotions } from "#rollout/promotions/interface.ts";
import type { PromotionStore } from "#rollout/promotions/store.ts";
import { createRowHandlers, type RowAccess } from "#rollout/rows/handlers.ts";

export function createPromotionService(store: PromotionStore, access: RowAccess) {
  const rows = createRowHandlers({
    store,
    access,
    word: "promotion",
    check: ({ after }) => {
      access.fleets.require(after);
    },
  });
  return implement(rolloutPromotions, {
    handlers: {
      List: async (ctx, request) => ({ promotions: await rows.list(ctx, request) }),
      Add: (ctx, promotion) => rows.add(ctx, promotion),
      Remove: async (ctx, removal) => {
        const { found } = await rows.remove(ctx, removal);
        if (found === null) throw store.unknown(removal.id);
        return found;
      },
    },
    options: { journalRetention: 0, asTerminalError, handlers: { List: unkept } },
  });
}
