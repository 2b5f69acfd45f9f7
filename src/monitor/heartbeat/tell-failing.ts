/** What a heartbeat tells those that depend on it. */
import type { ObjectSharedContext } from "@restatedev/restate-sdk";
import { inTime } from "#kernel/in-time.ts";
import type { Heartbeat } from "#monitor/contract.ts";
import { dueAtMs } from "#monitor/rules/deadline.ts";
import type { DependencyState } from "#monitor/rules/suppression.ts";
import { isPlain } from "./alarm.ts";
import type { HeartbeatParts } from "./parts.ts";
import { readState } from "./state.ts";

/** From a deadline to the decision about it: the deadlines are polled every second. */
const decisionMs = 5_000;

/** The deadline of a heartbeat that is ok is in Postgres; asked for longer, it would delay an alert. */
const databaseTimeoutMs = 1_500;

/** `heartbeat`: null when it is not defined. Then, and while its job is off, it suppresses nothing. */
export async function tellFailing(
  ctx: ObjectSharedContext,
  heartbeat: Heartbeat | null,
  { inbox }: Pick<HeartbeatParts, "inbox">,
): Promise<DependencyState> {
  const state = await readState(ctx);
  if (heartbeat === null || state === null || state.status === "paused") {
    return { isFailing: false, sinceMs: 0, nextRunMs: null, decidesByMs: null };
  }
  const { status, sinceMs } = state;
  if (status === "failed") return { isFailing: true, sinceMs, nextRunMs: null, decidesByMs: null };
  const read = () => inbox.dueAtMs(ctx.key);
  const nextRunMs = isPlain(state)
    ? await ctx.run("read-due", () => inTime(read, { limitMs: databaseTimeoutMs, otherwise: null }))
    : dueAtMs(heartbeat, state);
  const decidesByMs = nextRunMs === null ? null : nextRunMs + decisionMs;
  return { isFailing: false, sinceMs, nextRunMs, decidesByMs };
}
