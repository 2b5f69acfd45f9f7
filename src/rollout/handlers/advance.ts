/** The exclusive handler that a run asks what to do next. Short, because it blocks the key. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { toIso } from "#kernel/time.ts";
import { isFilledBy } from "#rollout/conditions/availability.ts";
import type { Facts } from "#rollout/conditions/condition.ts";
import { mayStart } from "#rollout/conditions/decide.ts";
import { type Next, nextOf } from "#rollout/conditions/next.ts";
import {
  beginWait,
  endedWave,
  unjudgedWave,
  withEnded,
  withoutAnyWait,
  withoutReason,
} from "#rollout/conditions/wait.ts";
import type { Advance, Instruction, Readings, Unhealthy } from "#rollout/internal.ts";
import { nothingWords } from "#rollout/rules/describe-plan.ts";
import { emptyOutcome, targetsOf } from "#rollout/rules/outcome.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { logFields } from "#rollout/rules/spans.ts";
import { isRunning } from "#rollout/rules/transitions.ts";
import {
  type RolloutHead,
  readBatch,
  readOutcome,
  readWindowsEpoch,
  type WaveProgress,
  writeHead,
} from "#rollout/state.ts";
import { announce, announceAt, sendAgain } from "./announce.ts";
import { toStatus } from "./answer.ts";
import { closeLostBatches } from "./batches.ts";
import { beginWatch } from "./completed.ts";
import { pollAgain, waitFor } from "./end-wait.ts";
import { withReadings } from "./readings.ts";
import { isDue, type OrderStop, rollBackAutomatically, stopFor, stopOrders } from "./stop.ts";
import { readRollout, type SavedRollout, statusOfForgotten } from "./superseded.ts";

/** Ends the finished wave, if any, and returns the next instruction. */
export async function advance(
  ctx: ObjectContext,
  request: Advance,
  orders: OrderStop,
): Promise<Instruction> {
  const rollout = await readRollout(ctx, request.rolloutId);
  if (rollout === null) {
    return { action: "stop", status: statusOfForgotten(request.rolloutId) };
  }
  const { head } = rollout;
  // This run was stopped, and Resume has begun another one.
  if (head.runner !== request.runner) return stopWith({ ...head, state: endedState(head) });
  // The run has waited for every batch, unless it was stopped: a batch that is still open was killed.
  const lost = request.isStopped === true ? [] : Object.keys(head.openBatches);
  const closed = drained(await closeLostBatches(ctx, rollout, lost), request);
  if (!rollout.isCurrent || head.state !== "in_progress") {
    rollout.write(closed);
    if (rollout.isCurrent && isDue(closed))
      return stopWith(await rollBackAutomatically(ctx, orders));
    const stopped = isUnstopped(rollout) ? await stopOrders(ctx, orders) : null;
    return stopWith({ ...(stopped ?? closed), state: endedState(head) });
  }
  return step(ctx, await withReadings(ctx, closed, request.look), { ...request, orders });
}

/** True if the operation that ended the rollout failed before it stopped outstanding orders; their number is then unknown. */
function isUnstopped({ head, isCurrent }: SavedRollout): boolean {
  return isCurrent && !isRunning(head.state) && head.stoppedRun !== head.runner;
}

/** A run asks for the first time once it has waited for what an earlier one left in flight. */
function drained({ drain, ...head }: RolloutHead, { isStopped }: Advance): RolloutHead {
  return isStopped === true && drain !== undefined ? { ...head, drain } : head;
}

/** Starts what comes next, waits for it, or stops the rollout. */
async function step(
  ctx: ObjectContext,
  head: RolloutHead,
  { finishedWave, look, orders }: Advance & { orders: OrderStop },
): Promise<Instruction> {
  const nowMs = await ctx.date.now();
  const next = nextOf(head);
  const wave = finishedWave ?? endedWave(head) ?? unjudgedWave(head);
  const over = withEnded(head, wave, nowMs);
  const isNew = wave !== undefined && wave !== endedWave(head);
  const waiting = isNew ? beginWait(over, { ended: wave, next, nowMs }) : over;
  const windowsEpoch = await readWindowsEpoch(ctx);
  const seen = freshReadings(look, { nowMs, windowsEpoch });
  const fleet = await countTargets(ctx, head, { next, seen: seen.fleet });
  const verdict = mayStart({ head: waiting, next, wave, nowMs, ...seen, fleet });
  // A wave that failed is over: when an operator resumes the rollout it neither soaks nor waits for its gate.
  if (verdict.action === "stop") return stopWith(await stopFor(ctx, over, { verdict, orders }));
  const ended = isNew ? announceAt(ctx, waiting, { transition: "wave completed", nowMs }) : waiting;
  if (verdict.action === "wait") return waitFor(ctx, ended, { verdict, nowMs });
  if (verdict.action === "look") return pollAgain(ctx, ended, nowMs);
  // The next transition is about a wave without gates: history gets their last readings before it.
  if (ended.gateStatus !== undefined) await sendAgain(ctx, ended);
  if (next.kind === "end") return complete(ctx, ended);
  if (!head.captured) return startCapture(ctx, ended);
  return startWave(ctx, withUnhealthy(ended, seen.fleet), { index: next.index, nowMs });
}

/** A reading from before an outage says nothing about now. */
const freshMs = 60_000;

function freshReadings(
  look: Readings | undefined,
  { nowMs, windowsEpoch }: { nowMs: number; windowsEpoch: number },
): Pick<Facts, "windows"> & { fleet: FleetReading } {
  const isFresh = look?.windowsEpoch === windowsEpoch && nowMs - look.atMs < freshMs;
  if (!isFresh) return { windows: "stale", fleet: "stale" };
  return { windows: look.windows ?? "unread", fleet: look.fleet ?? null };
}

/** The fleet is frozen as it is when the first wave may start. */
async function startCapture(ctx: ObjectContext, head: RolloutHead): Promise<Instruction> {
  writeHead(ctx, withoutReason(head));
  return { action: "capture", windowsEpoch: await readWindowsEpoch(ctx) };
}

async function complete(ctx: ObjectContext, head: RolloutHead): Promise<Instruction> {
  const { total, fleetSize = 0, leftOut = 0 } = head;
  const nothing = total > 0 ? {} : { reason: nothingWords(fleetSize - leftOut, leftOut) };
  const completed: RolloutHead = { ...withoutAnyWait(head), ...nothing, state: "completed" };
  return stopWith(beginWatch(ctx, await announce(ctx, completed, "completed")));
}

async function startWave(
  ctx: ObjectContext,
  ended: RolloutHead,
  { index: waveIndex, nowMs }: { index: number; nowMs: number },
): Promise<Instruction> {
  const head = withoutAnyWait(ended);
  const { endedAt: _, ...wave } = head.waves[waveIndex] as WaveProgress;
  const started = { ...wave, startedAt: wave.startedAt ?? toIso(nowMs) };
  const waves = head.waves.with(waveIndex, started);
  const currentWave = waveIndex + 1;
  const { rolloutId, startedBy: by } = head;
  const ids = logFields(head);
  ctx.console.info("starting wave", { rolloutId, wave: currentWave, size: wave.size, by, ...ids });
  announceAt(ctx, { ...head, waves, currentWave }, { transition: "wave started", nowMs });
  const windowsEpoch = await readWindowsEpoch(ctx);
  const oneByOne = head.unavailable === undefined ? {} : { oneByOne: true as const };
  return { action: "run", waveIndex, batches: batchesOf(wave), windowsEpoch, ...oneByOne };
}

/** Returns the state in which the stopping run has left the rollout, whatever was started since. */
function endedState(head: RolloutHead): RolloutHead["state"] {
  if (head.state === "in_progress") return "paused";
  const wasRolledBackByHand = head.state === "rolling_back" && head.automaticRollback === undefined;
  return wasRolledBackByHand ? (head.rolledBackFrom ?? "cancelled") : head.state;
}

/** The caller waits for a rollback that has followed by itself, too. */
function stopWith(head: RolloutHead): Instruction {
  const { automaticRollback: followedBy } = head;
  return {
    action: "stop",
    status: toStatus(head),
    ...(followedBy !== undefined && { followedBy }),
  };
}

/** null: nobody asked, or the fleet could not be listed. "stale": it was read too long ago. */
type FleetReading = Unhealthy | null | "stale";

/** Counts the unhealthy sentinels and, only where it decides something, those of them that come next. */
async function countTargets(
  ctx: ObjectContext,
  head: RolloutHead,
  { next, seen }: { next: Next; seen: FleetReading },
): Promise<Facts["fleet"]> {
  if (seen === "stale" || seen === null) return seen;
  const unhealthy = seen.ids.length + seen.more;
  if (next.kind !== "wave" || !isFilledBy(head, unhealthy)) return { unhealthy, ofNext: 0 };
  const ids = new Set(seen.ids);
  const targets = await firstTargets(ctx, head, next.index);
  return { unhealthy, ofNext: targets.filter((id) => ids.has(id)).length };
}

/** Returns the sentinels of the first batch of the wave with members left: batches run one by one. */
async function firstTargets(
  ctx: ObjectContext,
  head: RolloutHead,
  index: number,
): Promise<string[]> {
  const wave = head.waves[index];
  for (const { batch: n } of wave === undefined ? [] : batchesOf(wave)) {
    const batch = await readBatch(ctx, n);
    if (batch === null) continue;
    const outcome = (await readOutcome(ctx, n)) ?? emptyOutcome(batch);
    const targets = targetsOf(batch, outcome, { kind: "rollout", image: head.image });
    if (targets.length > 0) return targets.map(({ id }) => id);
  }
  return [];
}

/** The head that counts from here on which sentinels are unavailable. */
function withUnhealthy({ unavailable: _, ...head }: RolloutHead, seen: FleetReading): RolloutHead {
  const counts = head.policy.max_unavailable !== undefined && seen !== null && seen !== "stale";
  return counts ? { ...head, unavailable: seen } : head;
}
