/** What may happen next in a batch: a deploy ends, an operator stops it, pins were read. */
import {
  type Context,
  type internal,
  RestatePromise,
  type TerminalError,
} from "@restatedev/restate-sdk";
import { type DeployResult, sentinelService } from "#fleet/contract.ts";
import { keyOf, ofFleet } from "#rollout/fleets.ts";
import type { BatchRun } from "#rollout/internal.ts";
import type { DeployOutcome, Target } from "#rollout/rules/outcome.ts";

/** A sentinel that a pin holds back, and why. */
export type Pinned = { id: string; reason: string };

/** `pinned`: null: the pins could not be read. */
export type Event =
  | { type: "deployed"; target: Target; outcome: DeployOutcome; wasKilled: boolean }
  | { type: "unordered"; index: number }
  | { type: "recorded"; wasKilled: boolean }
  | { type: "pins read"; pinned: Pinned[] | null }
  | { type: "pins due" }
  | { type: "stop" };

export function stopEvent(ctx: Context): RestatePromise<Event> {
  const toEvent = (): Event => ({ type: "stop" });
  const cancelled = (ctx as unknown as internal.ContextInternal).cancellation();
  return RestatePromise.race([ctx.signal<null>("stop").map(toEvent), cancelled.map(toEvent)]);
}

export function deploy(
  ctx: Context,
  target: Target,
  { run, ...of }: Pick<BatchRun, "run" | "fleet">,
): RestatePromise<Event> {
  const { index, id, image } = target;
  return ctx
    .client(sentinelService, id)
    .Deploy({ image, ...(run !== undefined && { run }), ...ofFleet(keyOf(of)) })
    .map((result, failure): Event => {
      if (result?.ordered === false) return { type: "unordered", index };
      const outcome = { index, id, ...judge(result, failure) };
      return { type: "deployed", target, outcome, wasKilled: failure !== undefined };
    });
}

function judge(
  result: DeployResult | undefined,
  failure: TerminalError | undefined,
): Pick<DeployOutcome, "ok" | "reason" | "ofFleet"> {
  if (failure !== undefined) {
    return { ok: false, reason: `cancelled: the deploy ended with "${failure.message}"` };
  }
  if (result?.status === "ready") return { ok: true };
  const reason = result?.reason ?? "timeout_unknown";
  return { ok: false, reason, ...(result?.unasked === true && { ofFleet: true }) };
}

/** Corrects the status of a sentinel whose deploy was killed and left it as progressing. */
export function abandon(
  ctx: Context,
  { target, outcome }: { target: Target; outcome: DeployOutcome },
): void {
  const reason = outcome.reason ?? "cancelled";
  ctx.sendClient(sentinelService, target.id).Abandon({ image: target.image, reason });
}
