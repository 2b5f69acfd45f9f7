/** Whatever ends a run stops its orders, durably, before it answers. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { RolloutStatus } from "#rollout/contract.ts";
import { emptyOutcome, targetsOf } from "#rollout/rules/outcome.ts";
import { isRunning } from "#rollout/rules/transitions.ts";
import { type RolloutHead, readBatch, readHead, readOutcome, writeHead } from "#rollout/state.ts";
import { toStatus, wasRolledBack } from "./answer.ts";

export type OrderStop = {
  /** From when it resolves no order of this run goes out any more, whatever is killed. */
  stopRun: (run: string) => Promise<void>;
  /** Of these sentinels, how many one of these runs has ordered. */
  countOrdered: (runs: readonly string[], ids: readonly string[]) => Promise<number>;
};

type Handler<Request, Answer> = (ctx: ObjectContext, request: Request) => Promise<Answer>;

/** The handler; when the rollout is not at work after it, the last run's orders are stopped. */
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

/** The same for a handler that answers with the status: `in_flight` is what was really ordered. */
export function stoppingAndCounting(
  orders: OrderStop,
  handler: (ctx: ObjectContext) => Promise<RolloutStatus>,
): (ctx: ObjectContext) => Promise<RolloutStatus> {
  return async (ctx) => {
    const answer = await handler(ctx);
    const head = await stopOrders(ctx, orders);
    return head === null ? answer : { ...answer, in_flight: toStatus(head).in_flight };
  };
}

/**
 * While the database is away this waits: no order can go out either, because each is written down
 * first, and an answer would be a promise that nobody could keep once the database is back.
 */
async function stopOrders(
  ctx: ObjectContext,
  { stopRun, countOrdered }: OrderStop,
): Promise<RolloutHead | null> {
  const head = await readHead(ctx);
  if (head === null || isRunning(head.state)) return null;
  // Stopped already: a database that is away must not hold the key for nothing.
  if (head.stoppedRun === head.runner) return head;
  await ctx.run("stop-orders", () => stopRun(head.runner), patience);
  const ids = await unresolvedIds(ctx, head);
  const count = () => countOrdered(runsOf(head), ids);
  const orderedAtStop = ids.length === 0 ? 0 : await ctx.run("count-ordered", count, patience);
  const stopped = { ...head, orderedAtStop, stoppedRun: head.runner };
  writeHead(ctx, stopped);
  return stopped;
}

/** A run that was resumed may still wait for batches of the run before it. */
function runsOf({ runner, openBatches }: RolloutHead): string[] {
  const launchers = Object.values(openBatches).flatMap(({ run = [] }) => run);
  return [...new Set([runner, ...launchers])];
}

const patience = { initialRetryInterval: 50, maxRetryInterval: 1_000 };

/**
 * Whom the batches at work have no result of. What was ordered of them counts as in flight until its
 * result is written down, also when its deploy has ended by now: else it would count as nothing.
 */
async function unresolvedIds(ctx: ObjectContext, head: RolloutHead): Promise<string[]> {
  const kind = wasRolledBack(head) ? "rollback" : "rollout";
  const ids: string[] = [];
  for (const n of Object.keys(head.openBatches).map(Number)) {
    const batch = await readBatch(ctx, n);
    if (batch === null) continue;
    const outcome = (await readOutcome(ctx, n)) ?? emptyOutcome(batch);
    ids.push(...targetsOf(batch, outcome, { kind, image: head.image }).map(({ id }) => id));
  }
  return ids;
}
