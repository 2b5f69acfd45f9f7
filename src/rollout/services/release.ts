/** Ends invocations that another version has begun and that cannot continue, and repairs the rollout. */
import { type Context, implement } from "@restatedev/restate-sdk";
import { sentinelService } from "#fleet/deploys/contract.ts";
import { rolloutPins } from "#rollout/choice/store.ts";
import type { Fleets } from "#rollout/fleets.ts";
import { rolloutHistory } from "#rollout/history/interface.ts";
import {
  type ReleaseRequest,
  rolloutBatch,
  rolloutCapture,
  rolloutObject,
  rolloutRelease,
  rolloutRuns,
  rolloutWatch,
  type WedgedCall,
} from "#rollout/internal.ts";
import { rolloutPromotions } from "#rollout/promotions/store.ts";
import { rolloutProofs } from "#rollout/proof/service.ts";
import { rolloutReplay } from "#rollout/replay/service.ts";
import { rolloutWindows } from "#rollout/windows/store.ts";

/** The services whose invocations block a rollout when they cannot continue. */
export const releasedServices: readonly string[] = [
  rolloutObject.name,
  rolloutRuns.name,
  rolloutBatch.name,
  rolloutCapture.name,
  rolloutWatch.name,
  rolloutHistory.name,
  rolloutRelease.name,
  rolloutWindows.name,
  rolloutPins.name,
  rolloutPromotions.name,
  rolloutReplay.name,
  rolloutProofs.name,
  sentinelService.name,
];

/** Kills invocations, with everything that they have called. Those that have ended already are ignored. */
export type EndInvocations = (invocations: readonly string[]) => Promise<void>;

type ReleaseParts = { endInvocations: EndInvocations; fleets: Fleets };

export function createRelease(parts: ReleaseParts) {
  return implement(rolloutRelease, {
    handlers: { release: (ctx, request) => release(ctx, request, parts) },
    // Called by the worker itself; the gateway in front of Restate does not let callers through to it.
    options: { journalRetention: 0 },
  });
}

async function release(
  ctx: Context,
  { revision, wedged }: ReleaseRequest,
  { endInvocations, fleets }: ReleaseParts,
): Promise<null> {
  const { again, first, others, involved } = planRelease(wedged);
  // Sent before the original invocations are killed: if this handler is killed in between it is
  // repeated, and the idempotency key keeps the calls from being sent twice.
  for (const call of again) resend(ctx, call);
  await ctx.run("end-on-rollout", () => endInvocations(first));
  const rollouts = await ctx.run("read-fleets", () => keysOf(wedged, fleets));
  const from = [...new Set(wedged.flatMap((call) => call.revision ?? []))];
  for (const key of involved.length > 0 ? rollouts : []) {
    await ctx.client(rolloutObject, key).stopForVersion({ involved, from, to: revision });
  }
  await ctx.run("end-others", () => endInvocations(others));
  for (const key of rollouts) {
    await ctx.client(rolloutObject, key).forgetBatches({ invocations: others });
  }
  return null;
}

/** Each rollout looks for its own among the invocations. One of a fleet that is gone is known by its calls alone. */
function keysOf(wedged: readonly WedgedCall[], { names }: Fleets): string[] {
  const keys = wedged.filter(({ service }) => service === rolloutObject.name);
  return [...new Set([...names, ...keys.flatMap(({ key }) => key ?? [])])];
}

function resend(ctx: Context, { id, service, key, handler, input }: WedgedCall): void {
  ctx.genericSend({
    service,
    method: handler,
    ...(key !== null && { key }),
    parameter: Buffer.from(JSON.stringify(input)),
    idempotencyKey: id,
  });
}

/** One-way calls, which no caller would repeat. All of them are safe to repeat. */
const oneWay: readonly string[] = [
  `${rolloutHistory.name}/save`,
  `${rolloutHistory.name}/plan`,
  `${rolloutHistory.name}/outcomes`,
  `${rolloutProofs.name}/make`,
  `${sentinelService.name}/Abandon`,
  `${rolloutObject.name}/windowsChanged`,
];

/** Handlers that a rollout does not need to continue: of callers, which only wait, and of repair. */
const notNeeded: readonly string[] = [
  ...["Rollout", "Resume", "RollbackAll", "Status", "Plan", "History", "repair"],
  ...["openInvocations", "forgetBatches", "windowsChanged", "recordCaller", "recordServing"],
  ...["toLook", "recordLook", "stopForDrift"],
].map((handler) => `${rolloutObject.name}/${handler}`);

type ReleasePlan = {
  /** Sent again with the same input. */
  again: WedgedCall[];
  /** Killed before `stopForVersion` is called, because they block the rollout's key. */
  first: string[];
  /** Killed once the rollout starts nothing more. */
  others: string[];
  /** Invocations of the rollout's own work that cannot continue, and those that wait for them. */
  involved: string[];
};

/** Decides what to do about invocations that cannot continue. Pure. */
export function planRelease(wedged: readonly WedgedCall[]): ReleasePlan {
  const isOn = (service: string) => (call: WedgedCall) => call.service === service;
  const isOnRollout = isOn(rolloutObject.name);
  const deploys = wedged.filter(({ service, handler }) => isDeploy(service, handler));
  const others = wedged.filter((call) => !isOnRollout(call));
  return {
    again: wedged.filter((call) => call.input !== undefined && oneWay.includes(nameOf(call))),
    first: wedged.filter(isOnRollout).map(({ id }) => id),
    // The batch before its deploy: it would record the killed deploy as failed instead of retrying it.
    others: [...new Set([...deploys.flatMap(parentOf), ...others.map(({ id }) => id)])],
    involved: [...new Set(wedged.filter(isWork).flatMap((call) => [call.id, ...parentOf(call)]))],
  };
}

function isWork(call: WedgedCall): boolean {
  const { service, handler } = call;
  if (service === rolloutObject.name) return !notNeeded.includes(nameOf(call));
  const works: readonly string[] = [rolloutRuns.name, rolloutBatch.name, rolloutCapture.name];
  return works.includes(service) || isDeploy(service, handler);
}

function isDeploy(service: string, handler: string): boolean {
  return service === sentinelService.name && handler === "Deploy";
}

function parentOf({ parent }: WedgedCall): string[] {
  return parent === null || parent === undefined ? [] : [parent];
}

const nameOf = ({ service, handler }: WedgedCall) => `${service}/${handler}`;

/** True if the call is sent again, so that its input is needed. */
export function isResent(call: Pick<WedgedCall, "service" | "handler">): boolean {
  return oneWay.includes(`${call.service}/${call.handler}`);
}
