/** Waits for the end of an apply, also of one that is killed. */
import {
  CancelledError,
  InvocationIdParser,
  type ObjectSharedContext,
  TerminalError,
} from "@restatedev/restate-sdk";
import type { ApplyResult } from "#routing/incident/contract.ts";
import { type ApplyBegun, alertRoutesObject } from "./internal.ts";

export async function waitForApply(
  ctx: ObjectSharedContext,
  { applyId, invocation }: ApplyBegun,
): Promise<ApplyResult> {
  try {
    const runner = InvocationIdParser.fromString(invocation);
    return await ctx.invocation(runner).attach<ApplyResult>();
  } catch (error) {
    if (!(error instanceof TerminalError) || error instanceof CancelledError) throw error;
    const reason = `the apply ended early: ${error.message}`;
    return ctx.client(alertRoutesObject, ctx.key).lost({ applyId, reason });
  }
}
