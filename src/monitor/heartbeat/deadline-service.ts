/** Calls the object of each heartbeat whose deadline has passed: one call from outside for all of them. */
import { implement } from "@restatedev/restate-sdk";
import { deadlineService, heartbeatObject } from "#monitor/internal.ts";
import { forEver, soonForgotten } from "#monitor/retry.ts";
import { findRollout } from "#monitor/transitions/hand-over.ts";
import type { HeartbeatParts } from "./parts.ts";

export function createDeadlineService(parts: HeartbeatParts) {
  return implement(deadlineService, {
    handlers: {
      passed: async (ctx, { overdue, atMs }) => {
        // Read once for all: an alert names the active rollout.
        const rollout = await findRollout(ctx, parts.readRollout);
        for (const { id, lastPingAtMs, away } of overdue) {
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
