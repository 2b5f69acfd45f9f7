/** Frees what is held by invocations that another version of the program has begun and this one cannot go on with. */
import { type Context, implement } from "@restatedev/restate-sdk";
import { sentinelService } from "#fleet/contract.ts";
import { chatChannel } from "#notify/contract.ts";
import { singletonKey } from "#rollout/contract.ts";
import {
  type ReleaseRequest,
  rolloutBatch,
  rolloutCapture,
  rolloutHistory,
  rolloutObject,
  rolloutRelease,
  rolloutRuns,
  rolloutWatch,
  type WedgedCall,
} from "#rollout/internal.ts";

/** The services whose invocations hold a rollout up when they cannot go on. */
export const releasedServices: readonly string[] = [
  rolloutObject.name,
  rolloutRuns.name,
  rolloutBatch.name,
  rolloutCapture.name,
  rolloutWatch.name,
  rolloutHistory.name,
  rolloutRelease.name,
  sentinelService.name,
  chatChannel.name,
];

/** Ends invocations for good, with everything that they have called. Those that have ended stay so. */
export type EndInvocations = (invocations: readonly string[]) => Promise<void>;

export function createRelease(endInvocations: EndInvocations) {
  return implement(rolloutRelease, {
    handlers: { release: (ctx, request) => release(ctx, request, endInvocations) },
    // Reached by the worker itself; the gateway in front of Restate lets nobody through to it.
    options: { journalRetention: 0 },
  });
}

async function release(
  ctx: Context,
  { revision, wedged }: ReleaseRequest,
  endInvocations: EndInvocations,
): Promise<null> {
  const { again, first, others, involved } = planRelease(wedged);
  // Before their first go is ended: killed in between, this comes again, and they still come once.
  for (const call of again) handAgain(ctx, call);
  await ctx.run("end-on-rollout", () => endInvocations(first));
  const rollout = ctx.client(rolloutObject, singletonKey);
  const from = [...new Set(wedged.flatMap((call) => call.revision ?? []))];
  if (involved.length > 0) await rollout.stopForVersion({ involved, from, to: revision });
  await ctx.run("end-others", () => endInvocations(others));
  await rollout.forgetBatches({ invocations: others });
  return null;
}

function handAgain(ctx: Context, { id, service, key, handler, input }: WedgedCall): void {
  ctx.genericSend({
    service,
    method: handler,
    ...(key !== null && { key }),
    parameter: Buffer.from(JSON.stringify(input)),
    idempotencyKey: id,
  });
}

/** What is sent one way, so that nobody but us gives it again: each of them may come twice. */
const oneWay: readonly string[] = [
  `${chatChannel.name}/Post`,
  `${rolloutHistory.name}/save`,
  `${rolloutHistory.name}/plan`,
  `${rolloutHistory.name}/outcomes`,
  `${sentinelService.name}/Abandon`,
];

/** Without them a rollout goes on: callers, who only wait, and what looks after it. */
const besides: readonly string[] = [
  ...["Rollout", "Resume", "RollbackAll", "Status", "Plan", "History", "repair"],
  ...["openInvocations", "forgetBatches"],
].map((handler) => `${rolloutObject.name}/${handler}`);

type ReleasePlan = {
  /** Handed over once more, as they were. */
  again: WedgedCall[];
  /** Ended before the rollout is told, because they hold its key. */
  first: string[];
  /** Ended once the rollout starts nothing more. */
  others: string[];
  /** Who cannot go on, and who waits for them, as far as the rollout's own work is concerned. */
  involved: string[];
};

/** What is to be done about invocations that cannot go on. Pure. */
export function planRelease(wedged: readonly WedgedCall[]): ReleasePlan {
  const isOn = (service: string) => (call: WedgedCall) => call.service === service;
  const isOnRollout = isOn(rolloutObject.name);
  const deploys = wedged.filter(({ service, handler }) => isDeploy(service, handler));
  const others = wedged.filter((call) => !isOnRollout(call));
  return {
    again: wedged.filter((call) => call.input !== undefined && oneWay.includes(nameOf(call))),
    first: wedged.filter(isOnRollout).map(({ id }) => id),
    // The batch before its deploy: it would write down as failed what is to be tried again.
    others: [...new Set([...deploys.flatMap(parentOf), ...others.map(({ id }) => id)])],
    involved: [...new Set(wedged.filter(isWork).flatMap((call) => [call.id, ...parentOf(call)]))],
  };
}

function isWork(call: WedgedCall): boolean {
  const { service, handler } = call;
  if (service === rolloutObject.name) return !besides.includes(nameOf(call));
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

/** Whether the input of such a call is needed, to hand it over once more. */
export function isHandedAgain(call: Pick<WedgedCall, "service" | "handler">): boolean {
  return oneWay.includes(`${call.service}/${call.handler}`);
}
