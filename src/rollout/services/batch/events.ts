/** The events of a batch: a deploy ends, an operator stops it, pins were read. */
import {
  type Context,
  type internal,
  RestatePromise,
  type TerminalError,
} from "@restatedev/restate-sdk";
import {
  type DeployResult,
  type DeployStart,
  type StartDeploys,
  sentinelService,
} from "#fleet/deploys/contract.ts";
import { keyOf, ofFleet } from "#rollout/fleets.ts";
import type { BatchRun, LaunchRequest } from "#rollout/internal.ts";
import type { DeployOutcome, Target } from "#rollout/rules/outcome.ts";
import type { BatchSpans, DeployedTarget } from "./spans.ts";

/** A sentinel that a pin holds back, and why. */
export type Pinned = { id: string; reason: string };

type StartedDeploys = Awaited<ReturnType<StartDeploys>>;

/** `pinned`: null: the pins could not be read. */
export type Event =
  | ({ type: "begun"; targets: readonly Target[] } & StartedDeploys)
  | ({ type: "deployed"; outcome: DeployOutcome; wasKilled: boolean } & DeployedTarget)
  | ({ type: "unordered" } & DeployedTarget)
  | { type: "recorded"; wasKilled: boolean }
  | { type: "ordered"; ids: readonly string[] }
  | { type: "pins read"; pinned: Pinned[] | null }
  | { type: "pins due" }
  | { type: "stop" };

export function stopEvent(ctx: Context): RestatePromise<Event> {
  const toEvent = (): Event => ({ type: "stop" });
  const cancelled = (ctx as unknown as internal.ContextInternal).cancellation();
  return RestatePromise.race([ctx.signal<null>("stop").map(toEvent), cancelled.map(toEvent)]);
}

type DeployParts = { run: Omit<BatchRun, "targets">; spans: Pick<BatchSpans, "traceOf"> };

/** Begins deploys of a group, the first ones at least, in one entry of the journal. */
export function start(
  ctx: Context,
  targets: readonly Target[],
  {
    run,
    spans,
    atOnce,
    startDeploys,
  }: DeployParts & { atOnce: number; startDeploys: StartDeploys },
): RestatePromise<Event> {
  const orders = targets.map((target) => ({
    sentinelId: target.id,
    image: target.image,
    deployId: deployIdOf(run, target),
    run: run.run,
    ...spans.traceOf(target),
  }));
  return ctx
    .run("begin-deploys", () => startDeploys(orders, keyOf(run), atOnce))
    .map((begun): Event => ({ type: "begun", targets, ...(begun ?? unknownStarts(targets)) }));
}

function unknownStarts(targets: readonly Target[]): StartedDeploys {
  return { starts: targets.map(() => ({})), isQuick: false, tookMs: 0 };
}

/**
 * The same until the deploy has a result, whichever batch wants it: a batch that follows a killed one, after Resume too, takes
 * over what that one has ordered. After a failure, in a rollback and in another rollout it is another one.
 */
export function deployIdOf(
  { rolloutId, kind, batch }: LaunchRequest,
  { index, tries = 0 }: Target,
): string {
  return [rolloutId, kind, batch, index, tries].join("-");
}

/** `step`: the last one of `start`; absent: it may have been ordered, or not. */
export function deploy(
  ctx: Context,
  target: Target,
  { run, spans, step }: DeployParts & Pick<DeployStart, "step">,
): RestatePromise<Event> {
  const { id, image } = target;
  const begun = { deployId: deployIdOf(run, target), ...(step && { step }) };
  return ctx
    .client(sentinelService, id)
    .Deploy({
      ...{ image, run: run.run, ...ofFleet(keyOf(run)), ...spans.traceOf(target) },
      begun,
    })
    .map((result, failure) => toEvent(target, result, failure));
}

/** Converts the result of a deploy. */
export function toEvent(
  target: Target,
  result: DeployResult | undefined,
  failure?: TerminalError,
): Event {
  const { index, id } = target;
  const span = result?.span;
  if (result?.ordered === false) return { type: "unordered", target, span };
  const outcome = { index, id, ...outcomeOf(result, failure) };
  return { type: "deployed", target, outcome, wasKilled: failure !== undefined, span };
}

function outcomeOf(
  result: DeployResult | undefined,
  failure: TerminalError | undefined,
): Pick<DeployOutcome, "ok" | "reason" | "ofFleet" | "serving"> {
  if (failure !== undefined) {
    return { ok: false, reason: `cancelled: the deploy ended with "${failure.message}"` };
  }
  if (result?.status === "ready") return { ok: true };
  const reason = result?.reason ?? "timeout_unknown";
  const { unasked, serving } = result ?? {};
  const ofApi = unasked === true && { ofFleet: true as const };
  return { ok: false, reason, ...ofApi, ...(serving && { serving }) };
}

/** Corrects the status of a sentinel whose deploy was killed and left it as progressing. */
export function abandon(
  ctx: Context,
  { target, outcome }: { target: Target; outcome: DeployOutcome },
): void {
  const reason = outcome.reason ?? "cancelled";
  ctx.sendClient(sentinelService, target.id).Abandon({ image: target.image, reason });
}

/** Logs a deploy that has failed. */
export function warn(
  ctx: Context,
  { target, outcome }: { target: Target; outcome: DeployOutcome },
): void {
  const { id: sentinel, image } = target;
  ctx.console.warn("sentinel deploy failed", { sentinel, image, reason: outcome.reason });
}
