/** Repairs a rollout whose run was killed, perhaps with every invocation that waited for it. */
import { type ObjectContext, type ObjectSharedContext, rpc } from "@restatedev/restate-sdk";
import { ofFleet } from "#rollout/fleets.ts";
import { rolloutObject, rolloutWatch } from "#rollout/internal.ts";
import { isRunning } from "#rollout/rules/transitions.ts";
import { repairIntervalMs } from "#rollout/services/watch.ts";
import { type RolloutHead, readHead, readRepair } from "#rollout/state.ts";
import { sendAgain } from "./announce.ts";
import { inFlight } from "./answer.ts";
import { closeLostBatches } from "./batches.ts";
import { armRepair } from "./runs.ts";
import { isDue, type OrderStop, rollBackAutomatically } from "./stop.ts";
import { readRollouts } from "./superseded.ts";

/** The timer: saves history again, sends a watch, and sets itself while there is something to watch. */
export async function repair(
  ctx: ObjectContext,
  request: { runner?: string },
  orders: OrderStop,
): Promise<null> {
  const head = await readHead(ctx);
  if (head === null) return null;
  await sendAgain(ctx, head);
  if (!needsWatch(head)) return null;
  if (isDue(head)) {
    await rollBackAutomatically(ctx, orders);
    return null;
  }
  if (request.runner !== undefined && request.runner !== head.runner) {
    scheduleRepair(ctx);
    return null;
  }
  const { rolloutId, runner } = head;
  ctx.sendClient(rolloutWatch).run({ rolloutId, runner, ...ofFleet(ctx.key) });
  // A call without `runner` is not the timer's: the run may have a timer that is still set.
  if (request.runner !== undefined || !(await isArmed(ctx, head)))
    await armRepair(ctx, head.runner);
  return null;
}

/** The timer of an earlier run: that of the current one may have been killed with what began the run. */
function scheduleRepair(ctx: ObjectContext): void {
  const delay = rpc.sendOpts<{ runner?: string }>({ delay: overdueMs });
  ctx.sendClient(rolloutObject, ctx.key).repair({}, delay);
}

/** Open batches outlive a cancelled or paused run, and are watched until they have ended. */
function needsWatch(head: RolloutHead): boolean {
  return isRunning(head.state) || inFlight(head) > 0 || isDue(head);
}

/** Sets the repair timer again, in case it was killed too. Called by every Status. */
export async function reviveRepair(ctx: ObjectSharedContext, head: RolloutHead): Promise<void> {
  if (!needsWatch(head) || (await isArmed(ctx, head))) return;
  ctx.sendClient(rolloutObject, ctx.key).repair({});
}

async function isArmed(ctx: ObjectSharedContext, { runner }: RolloutHead): Promise<boolean> {
  const mark = await readRepair(ctx);
  // The absolute difference: with a clock that was set back the mark is not trusted for longer.
  return mark?.runner === runner && Math.abs((await ctx.date.now()) - mark.atMs) < overdueMs;
}

const overdueMs = 2 * repairIntervalMs;

export async function openInvocations(
  ctx: ObjectSharedContext,
  request: { rolloutId: string },
): Promise<string[]> {
  const head = await readHead(ctx);
  if (head?.rolloutId !== request.rolloutId) return [];
  return Object.values(head.openBatches).map(({ invocation }) => invocation);
}

/** Closes batches that were killed, which never close themselves: they have no deploys in flight. */
export async function forgetBatches(
  ctx: ObjectContext,
  request: { rolloutId?: string; invocations: string[] },
): Promise<null> {
  const gone = new Set(request.invocations);
  for (const rollout of await readRollouts(ctx)) {
    const open = Object.entries(rollout.head.openBatches);
    const lost = open.filter(([, { invocation }]) => gone.has(invocation)).map(([n]) => n);
    if (lost.length > 0) rollout.write(await closeLostBatches(ctx, rollout, lost));
  }
  return null;
}
