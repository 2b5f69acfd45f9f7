/** Passes on to each heartbeat's object that its deadline has passed: one call, however many there are. */
import { implement } from "@restatedev/restate-sdk";
import { deadlineService, heartbeatObject } from "#monitor/internal.ts";
import { forEver, soonForgotten } from "#monitor/retry.ts";
import { findRollout } from "#monitor/transitions/hand-over.ts";
import type { HeartbeatParts } from "./parts.ts";

export function createDeadlineService(parts: HeartbeatParts) {
  const known = new Set(parts.definitions.heartbeats.map(({ id }) => id));
  return implement(deadlineService, {
    handlers: {
      passed: async (ctx, { overdue, atMs, away: awayForAll }) => {
        // Asked for once and not by each: an alert names the rollout under way.
        const rollout = await findRollout(ctx, parts.readRollout);
        for (const { id, lastPingAtMs, away = awayForAll } of overdue) {
          if (!known.has(id)) continue;
          ctx.sendClient(heartbeatObject, id).overdue({ lastPingAtMs, atMs, away, rollout });
        }
        return null;
      },
    },
    options: {
      journalRetention: 0,
      idempotencyRetention: soonForgotten,
      retryPolicy: forEver,
    },
  });
}
