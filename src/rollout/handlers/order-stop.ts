/** Every handler that ends a run stops its orders, durably, before it answers. */
import { type ObjectContext, TerminalError } from "@restatedev/restate-sdk";
import { together } from "#kernel/together.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { emptyOutcome, targetsOf } from "#rollout/rules/outcome.ts";
import { isRunning } from "#rollout/rules/transitions.ts";
import {
  type Batch,
  type Outcome,
  type RolloutHead,
  readBatch,
  readHead,
  readOutcome,
  writeHead,
} from "#rollout/state.ts";
import { announceAt, type ByOperator } from "./announce.ts";
import { toStatus, wasRolledBack } from "./answer.ts";
import { cancelRun, stopWork } from "./runs.ts";

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

/**
 * Waits while the database is unavailable. No order is sent meanwhile either, because each is written to
 * the database first; an answer without the stop would be wrong once the database is back.
 */
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

/**
 * The members of open batches without a result. Those that were ordered count as in flight until their
 * result is recorded, even if their deploy has ended by now: otherwise they would not count at all.
 */
function unresolvedIds(head: RolloutHead, open: readonly OpenBatch[]): string[] {
  const kind = wasRolledBack(head) ? "rollback" : "rollout";
  const { image, includeFailed } = head;
  return open.flatMap(([batch, known]) => {
    if (batch === null) return [];
    const outcome = known ?? emptyOutcome(batch);
    return targetsOf(batch, outcome, { kind, image, includeFailed }).map(({ id }) => id);
  });
}
