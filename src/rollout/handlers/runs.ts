/** Starts a run and stops one. */
import { InvocationIdParser, type ObjectContext, rpc } from "@restatedev/restate-sdk";
import type { RolloutStatus } from "#rollout/contract.ts";
import { ofFleet } from "#rollout/fleets.ts";
import {
  type CallerRecord,
  type Run,
  rolloutObject,
  rolloutRuns,
  rolloutWatch,
} from "#rollout/internal.ts";
import { repairIntervalMs } from "#rollout/services/watch.ts";
import {
  type HeadPolicy,
  type RolloutHead,
  readHead,
  readWindowsEpoch,
  writeHead,
  writeRepair,
} from "#rollout/state.ts";

/** Sends the run instead of calling it, so that it survives when the invocation waiting for it is killed. */
export async function startRun(
  ctx: ObjectContext,
  {
    policy,
    ...of
  }: Omit<Run, "windowsEpoch" | "notBefore" | "countsUnhealthy"> & { policy: HeadPolicy },
): Promise<string> {
  const windowsEpoch = await readWindowsEpoch(ctx);
  const { not_before: notBefore, max_unavailable: limit } = policy;
  const run: Run = {
    ...of,
    ...ofFleet(ctx.key),
    windowsEpoch,
    ...(notBefore !== undefined && { notBefore }),
    ...(limit !== undefined && { countsUnhealthy: true }),
  };
  const runner = await ctx.sendClient(rolloutRuns).run(run).invocationId;
  ctx.sendClient(rolloutWatch).run({ rolloutId: run.rolloutId, runner, ...ofFleet(ctx.key) });
  await armRepair(ctx, runner);
  return runner;
}

/** Sets the repair timer for a run. */
export async function armRepair(ctx: ObjectContext, runner: string): Promise<void> {
  writeRepair(ctx, { runner, atMs: await ctx.date.now() });
  const delay = rpc.sendOpts<{ runner: string }>({ delay: repairIntervalMs });
  ctx.sendClient(rolloutObject, ctx.key).repair({ runner }, delay);
}

/** The batches of this rollout that may still be deploying, and those for which it waits itself. */
export function drainOf({
  rolloutId,
  drain = {},
  openBatches,
}: RolloutHead): Record<string, string[]> {
  const own = Object.values(openBatches).map(({ invocation }) => invocation);
  return own.length === 0 ? drain : { ...drain, [rolloutId]: own };
}

/** The invocations for which the next run waits: the last run, and batches that may still be deploying. */
export function waitList(before: RolloutHead | null): string[] {
  return before === null ? [] : [before.runner, ...Object.values(drainOf(before)).flat()];
}

/** Stops open batches from starting deploys; those in flight finish. A waiting run's caller is answered at once. */
export function stopWork(ctx: ObjectContext, head: RolloutHead): void {
  const open = Object.values(head.openBatches).map(({ invocation }) => invocation);
  for (const invocation of [...open, head.runner])
    signal(ctx, invocation, { name: "stop", value: null });
}

/** Notes who waits for a run, so that a Cancel need not answer through the run. */
export async function recordCaller(
  ctx: ObjectContext,
  { runner, caller }: CallerRecord,
): Promise<null> {
  const head = await readHead(ctx);
  if (head?.runner === runner) writeHead(ctx, { ...head, caller: { runner, invocation: caller } });
  return null;
}

/**
 * Ends the run, which answers with this status, without waiting for what is in flight: that is recorded all the same. Must
 * be called after the status is written. Whoever waits for the run is told as well, since that is sooner. `null`: the
 * run asks for the status.
 */
export function cancelRun(
  ctx: ObjectContext,
  { runner, caller }: RolloutHead,
  status: RolloutStatus | null,
): void {
  const value = { name: "cancel", value: status } as const;
  signal(ctx, runner, value);
  if (status !== null && caller?.runner === runner) signal(ctx, caller.invocation, value);
}

function signal<Value>(
  ctx: ObjectContext,
  invocation: string,
  { name, value }: { name: "stop" | "cancel"; value: Value },
): void {
  ctx.invocation(InvocationIdParser.fromString(invocation)).signal<Value>(name).resolve(value);
}
