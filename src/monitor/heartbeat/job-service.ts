/** Pings the heartbeats of a timed job of our own that ran well: a call for each, which Restate delivers for certain. */
import { implement } from "@restatedev/restate-sdk";
import { heartbeatObject, jobHeartbeats } from "#monitor/internal.ts";
import { forEver } from "#monitor/retry.ts";
import type { HeartbeatParts } from "./parts.ts";

export function createJobHeartbeats({ readDefinitions, adopt }: HeartbeatParts) {
  return implement(jobHeartbeats, {
    handlers: {
      succeeded: async (ctx, { job, atMs }) => {
        const ids = await ctx.run("find-heartbeats", async () => {
          const { heartbeats } = await readDefinitions({ isFresh: true });
          const pinged = heartbeats.filter((heartbeat) => heartbeat.job === job);
          // A Postgres that was restored may have lost their rows.
          await adopt(pinged);
          return pinged.map(({ id }) => id);
        });
        for (const id of ids) ctx.sendClient(heartbeatObject, id).ping({ kind: "success", atMs });
        return null;
      },
    },
    options: { journalRetention: 0, retryPolicy: forEver },
  });
}
