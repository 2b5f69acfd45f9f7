/** The object that writes history, and has a proof made of each end. */
import { implement, type ObjectContext } from "@restatedev/restate-sdk";
import { rolloutProofs } from "#rollout/proof/service.ts";
import { isEnd, rolloutHistory } from "./interface.ts";
import type { HistoryStore } from "./store.ts";

/** An unavailable database delays these writes, in order, and nothing else. */
export function createHistoryObject(store: HistoryStore) {
  const write = async (ctx: ObjectContext, name: string, action: () => Promise<void>) => {
    await ctx.run(name, action);
    return null;
  };
  return implement(rolloutHistory, {
    handlers: {
      save: async (ctx, entry) => {
        await write(ctx, "save-rollout", () => store.save(ctx.key, entry));
        if (isEnd(entry)) ctx.sendClient(rolloutProofs).make({ rollout_id: ctx.key });
        return null;
      },
      plan: (ctx, { batches }) => write(ctx, "save-plan", () => store.plan(ctx.key, batches)),
      leaveOut: (ctx, entry) => write(ctx, "save-left-out", () => store.leaveOut(ctx.key, entry)),
      outcomes: (ctx, entry) => write(ctx, "save-outcomes", () => store.outcomes(ctx.key, entry)),
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}
