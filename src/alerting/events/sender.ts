/** Makes the requests, as a virtual object: one at a time per check. */
import { implement } from "@restatedev/restate-sdk";
import type { Attempt } from "./attempt.ts";
import { alertQueue, alertSender } from "./internal.ts";

/**
 * A request that was made but whose end is not in the journal is made again after a crash, before
 * anything newer: that is the "at least" of at least once.
 */
export function createAlertSender({ attempt }: { attempt: Attempt }) {
  return implement(alertSender, {
    handlers: {
      deliver: async (ctx, { order, generation }) => {
        const { outcome, atMs } = await ctx.run("post-event", async () => ({
          outcome: await attempt(order),
          atMs: Date.now(),
        }));
        const { eventId } = order.transition;
        ctx.sendClient(alertQueue, ctx.key).settled({ eventId, generation, outcome, atMs });
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}
