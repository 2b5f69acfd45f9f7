/** Whatever ends a run stops its orders, durably, before it answers. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { toStatus } from "./answer.ts";
import type { RolloutStatus } from "./contract.ts";
import { type RolloutHead, readHead, writeHead } from "./state.ts";
import { isRunning } from "./transitions.ts";

/**
 * From when it resolves no order of this run goes out any more, whatever is killed. Answers how
 * many have gone out and have no result yet.
 */
export type StopRun = (run: string) => Promise<number>;

type Handler<Request, Answer> = (ctx: ObjectContext, request: Request) => Promise<Answer>;

/** The handler; when the rollout is not at work after it, the last run's orders are stopped. */
export function stoppingOrders<Request, Answer>(
  stopRun: StopRun,
  handler: Handler<Request, Answer>,
): Handler<Request, Answer> {
  return async (ctx, request) => {
    const answer = await handler(ctx, request);
    await stopOrders(ctx, stopRun);
    return answer;
  };
}

/** The same for a handler that answers with the status: `in_flight` is what was really ordered. */
export function stoppingAndCounting(
  stopRun: StopRun,
  handler: (ctx: ObjectContext) => Promise<RolloutStatus>,
): (ctx: ObjectContext) => Promise<RolloutStatus> {
  return async (ctx) => {
    const answer = await handler(ctx);
    const head = await stopOrders(ctx, stopRun);
    return head === null ? answer : { ...answer, in_flight: toStatus(head).in_flight };
  };
}

/**
 * While the database is away this waits: no order can go out either, because each is written down
 * first, and an answer would be a promise that nobody could keep once the database is back.
 */
async function stopOrders(ctx: ObjectContext, stopRun: StopRun): Promise<RolloutHead | null> {
  const head = await readHead(ctx);
  if (head === null || isRunning(head.state)) return null;
  const patience = { initialRetryInterval: 50, maxRetryInterval: 1_000 };
  const orderedAtStop = await ctx.run("stop-orders", () => stopRun(head.runner), patience);
  const stopped = { ...head, orderedAtStop };
  writeHead(ctx, stopped);
  return stopped;
}
