/** `JobHeartbeats`: pings the heartbeats of a timed job of this program that ran well. */
import { implement } from "@restatedev/restate-sdk";
import type { ReadDefinitions } from "#monitor/contract.ts";
import { jobHeartbeats } from "#monitor/internal.ts";
import { forEver } from "#monitor/retry.ts";
import type { Inbox } from "./inbox.ts";

type Parts = { readDefinitions: ReadDefinitions; pingOurs: Inbox["pingOurs"] };

export function createJobHeartbeats({ readDefinitions, pingOurs }: Parts) {
  return implement(jobHeartbeats, {
    handlers: {
      succeeded: async (ctx, { job, atMs }) => {
        await ctx.run("ping-heartbeats", async () => {
          const { heartbeats } = await readDefinitions({ isFresh: true });
          const pinged = heartbeats.filter((heartbeat) => heartbeat.job === job);
          for (const { id } of pinged) await pingOurs(id, { kind: "success", atMs });
        });
        return null;
      },
    },
    options: { journalRetention: 0, retryPolicy: forEver },
  });
}
