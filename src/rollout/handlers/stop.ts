/** Stops a rollout, by an operator or because a condition failed: no order leaves any more, and a rollback may follow. */
import { type ObjectContext, TerminalError } from "@restatedev/restate-sdk";
import { type Actor, nameOf } from "#kernel/actor.ts";
import { together } from "#kernel/restate.ts";
import { someOf } from "#kernel/text.ts";
import type { RollbackRequest } from "#rollout/calls-contract.ts";
import type { Stop } from "#rollout/conditions/condition.ts";
import type { Operation, RolloutStatus } from "#rollout/contract.ts";
import type { DriftStop, RunHandle } from "#rollout/internal.ts";
import { emptyOutcome, targetsOf } from "#rollout/rules/outcome.ts";
import { isRunning, nextState } from "#rollout/rules/transitions.ts";
import {
  type Batch,
  inlineListLimit,
  type Outcome,
  type RolloutHead,
  readBatch,
  readHead,
  readOutcome,
  writeHead,
} from "#rollout/state.ts";
import { limitOf } from "#rollout/values-contract.ts";
import { announce, announceAt, type ByOperator } from "./announce.ts";
import { toStatus, wasRolledBack } from "./answer.ts";
import { cancelRun, drainOf, startRun, stopWork, waitList } from "./runs.ts";

/** Every handler that ends a run stops its orders, durably, before it answers. */
export type OrderStop = {
  /** Once it has resolved no order of this run is sent any more, whatever is killed. */
  stopRun: (run: string) => Promise<void>;
  /** Counts those of these sentinels that were last ordered by one of these runs. */
  countOrdered: (runs: readonly string[], ids: readonly string[]) => Promise<number>;
};

type Handler<Request, Answer> = (ctx: ObjectContext, request: Request) => Promise<Answer>;

/** Wraps the handler: if the rollout does not run after it, the last run's orders are stopped. */
export function stoppingOrders<Request, Answer>(
  orders: OrderStop,
  handler: Handler<Request, Answer>,
): Handler<Request, Answer> {
  return async (ctx, request) => {
    const answer = await handler(ctx, request);
    await stopOrders(ctx, orders);
    return answer;
  };
}

/** Writes what an operator has stopped, and stops its orders: as few round trips as can be, since people wait for it. */
export async function endByOperator(
  ctx: ObjectContext,
  stopped: RolloutHead,
  { transition, orders }: { transition: ByOperator; orders: OrderStop },
): Promise<RolloutStatus> {
  const [nowMs, open] = await together([ctx.date.now(), readOpen(ctx, stopped)]);
  const announced = announceAt(ctx, stopped, { transition, nowMs });
  // Not before: a run that was told to stop, of a rollout that goes on, would ask what to do for ever.
  stopWork(ctx, announced);
  try {
    return toStatus(await stopAndCount(ctx, announced, { orders, open }));
  } catch (error) {
    // Cancelled in Restate, after it was written: the run asks, which stops its orders as soon as the database is there, and
    // then answers those who wait. Nobody does it for a Cancel that is killed: the run ends with its batches.
    const isOver = error instanceof TerminalError && announced.state === "cancelled";
    if (isOver) cancelRun(ctx, announced, null);
    throw error;
  }
}

/** Waits while the database is unavailable: no order is sent then, as each is written there first. */
export async function stopOrders(
  ctx: ObjectContext,
  orders: OrderStop,
): Promise<RolloutHead | null> {
  const head = await readHead(ctx);
  if (head === null || isRunning(head.state)) return null;
  // Stopped already: an unavailable database must not block the key without need.
  if (head.stoppedRun === head.runner) return head;
  return stopAndCount(ctx, head, { orders, open: await readOpen(ctx, head) });
}

async function stopAndCount(
  ctx: ObjectContext,
  head: RolloutHead,
  { orders, open }: { orders: OrderStop; open: readonly OpenBatch[] },
): Promise<RolloutHead> {
  const ids = unresolvedIds(head, open);
  const stop = async () => {
    await orders.stopRun(head.runner);
    return ids.length === 0 ? 0 : orders.countOrdered(runsOf(head), ids);
  };
  const orderedAtStop = await ctx.run("stop-orders", stop, retryOptions);
  const stopped = { ...head, orderedAtStop, stoppedRun: head.runner };
  writeHead(ctx, stopped);
  return stopped;
}

/** The current run and those that launched its open batches: a resumed run may wait for earlier ones. */
function runsOf({ runner, openBatches }: RolloutHead): string[] {
  const launchers = Object.values(openBatches).map(({ run }) => run);
  return [...new Set([runner, ...launchers])];
}

const retryOptions = { initialRetryInterval: 50, maxRetryInterval: 1_000 };

type OpenBatch = [Batch | null, Outcome | null];

function readOpen(ctx: ObjectContext, { openBatches }: RolloutHead): Promise<OpenBatch[]> {
  const numbers = Object.keys(openBatches).map(Number);
  return together(
    numbers.map((n) => together<OpenBatch>([readBatch(ctx, n), readOutcome(ctx, n)])),
  );
}

/** Members without a result. Ordered ones are in flight until it is recorded; else they would not count at all. */
function unresolvedIds(head: RolloutHead, open: readonly OpenBatch[]): string[] {
  const kind = wasRolledBack(head) ? "rollback" : "rollout";
  const { image, includeFailed } = head;
  return open.flatMap(([batch, known]) => {
    if (batch === null) return [];
    const outcome = known ?? emptyOutcome(batch);
    return targetsOf(batch, outcome, { kind, image, includeFailed }).map(({ id }) => id);
  });
}

/** The head, if the operation is legal now. Otherwise throws a `ProblemError` (409). */
export async function requireHead(
  ctx: ObjectContext,
  operation: Exclude<Operation, "Rollout">,
): Promise<RolloutHead> {
  const head = await readHead(ctx);
  nextState(operation, head);
  return head as RolloutHead;
}

/** The head without the fields about how its last run stopped. */
export function withoutStop({
  reason: _r,
  cause: _c,
  paused: _p,
  orderedAtStop: _o,
  stoppedRun: _s,
  rollbackDue: _d,
  ...head
}: RolloutHead): RolloutHead {
  return head;
}

export async function startRollback(
  ctx: ObjectContext,
  { include_failed: includeFailed = false, ...actor }: Actor & RollbackRequest,
): Promise<RunHandle> {
  const before = withoutStop(await requireHead(ctx, "RollbackAll"));
  const { rolloutId, runner } = await enterRollback(ctx, before, {
    by: nameOf(actor),
    includeFailed,
  });
  return { rolloutId, runner };
}

type Rollback = { by: string; includeFailed: boolean; isAutomatic?: boolean };

export async function enterRollback(
  ctx: ObjectContext,
  { automaticRollback: _a, rollbackDue: _d, ...before }: RolloutHead,
  { by, includeFailed, isAutomatic = false }: Rollback,
): Promise<RolloutHead> {
  const { rolloutId } = before;
  const runner = await startRun(ctx, {
    rolloutId,
    kind: "rollback",
    drain: waitList(before),
    policy: {},
  });
  const head: RolloutHead = {
    ...before,
    state: "rolling_back",
    runner,
    drain: drainOf(before),
    revertedByLastRollback: 0,
    revertedBefore: before.reverted,
    notReverted: [],
    includeFailed,
    rolledBackFrom: before.state === "paused" ? "paused" : "cancelled",
    ...(isAutomatic && { automaticRollback: runner }),
  };
  return announce(ctx, head, { event: "rollback started", by });
}

/** The name of the caller of an automatic rollback. */
export const automatic = "on_failure";

/** Deploys in flight finish. The rollback is noted first: the repair timer starts it after a kill. */
export async function stopFor(
  ctx: ObjectContext,
  head: RolloutHead,
  { verdict, orders }: { verdict: Stop; orders: OrderStop },
): Promise<RolloutHead> {
  const { cause, reason, isOfImage, rollsBack = false } = verdict;
  const { reason: _, ...before } = head;
  const followsRollback = rollsBack || (isOfImage && head.policy.on_failure === "rollback");
  const paused: RolloutHead = {
    ...before,
    state: "paused",
    cause,
    ...(reason !== undefined && { reason }),
    ...(followsRollback && { rollbackDue: true }),
  };
  const announced = await announce(ctx, paused, "paused");
  stopWork(ctx, announced);
  const stopped = await stopOrders(ctx, orders);
  return followsRollback ? rollBackAutomatically(ctx, orders) : (stopped ?? announced);
}

/** The number of sentinels that the reason of a pause names. */
const maxNamed = 5;

/** Pauses a rollout whose sentinels somebody else has changed while it ran: as many as may fail in all count for nothing. */
export async function stopForDrift(
  ctx: ObjectContext,
  { rolloutId, ids }: DriftStop,
  orders: OrderStop,
): Promise<null> {
  const head = await readHead(ctx);
  if (head?.rolloutId !== rolloutId || head.state !== "in_progress") return null;
  const known = new Set(head.drifted);
  const fresh = ids.filter((id) => !known.has(id));
  const allowed = head.policy.max_failed?.in_all ?? 0;
  if (fresh.length <= limitOf(allowed, head.total)) return null;
  const reason = `sentinels that had taken the image run another one: ${someOf(fresh, maxNamed)}`;
  const verdict = { action: "stop", cause: "drift", reason, isOfImage: false } as const;
  const drifted = [...known, ...fresh].slice(-inlineListLimit);
  await stopFor(ctx, { ...head, drifted }, { verdict, orders });
  return null;
}

/** True if an automatic rollback is pending: an operator may have decided otherwise meanwhile. */
export function isDue({ state, rollbackDue }: RolloutHead): boolean {
  return state === "paused" && rollbackDue === true;
}

/** Starts the rollback that is due. Its reason and cause stay those of the pause. */
export async function rollBackAutomatically(
  ctx: ObjectContext,
  orders: OrderStop,
): Promise<RolloutHead> {
  const head = (await stopOrders(ctx, orders)) as RolloutHead;
  const includeFailed = head.policy.include_failed === true;
  return enterRollback(ctx, head, { by: automatic, includeFailed, isAutomatic: true });
}
