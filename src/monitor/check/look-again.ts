/** The timer of a pending alert: when to ask again what it waits for. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { after } from "#kernel/durable-timer.ts";
import type { CheckState } from "#monitor/contract.ts";
import { apiCheckObject } from "#monitor/internal.ts";
import { looks } from "./state.ts";

/** Sets it while an alert is pending. One that is earlier remains. */
export async function lookAgain(
  ctx: ObjectContext,
  { pendingAlert }: CheckState,
  nowMs: number,
): Promise<void> {
  if (pendingAlert === null) return;
  const before = await looks.read(ctx);
  const atMs = pendingAlert.lookAtMs;
  if (before !== null && before.atMs > nowMs && before.atMs <= atMs) return;
  looks.set(ctx, { before, atMs }, (generation) =>
    ctx.sendClient(apiCheckObject, ctx.key).reconsider({ generation }, after(atMs - nowMs)),
  );
}
