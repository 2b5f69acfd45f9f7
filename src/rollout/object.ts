/** `SentinelRolloutService`: the virtual object of the rollout. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import { ProblemError } from "#kernel/problem.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { type RolloutProblemCode, singletonKey } from "./contract.ts";
import { launchBatch, record } from "./handlers/batches.ts";
import { passGate } from "./handlers/gate.ts";
import { begin, beginResume, beginRollback, cancel } from "./handlers/operations.ts";
import { type OrderStop, stoppingAndCounting, stoppingOrders } from "./handlers/order-stop.ts";
import { createPublicHandlers, type PublicParts } from "./handlers/public.ts";
import { forgetBatches, openInvocations, repair } from "./handlers/repair.ts";
import {
  advance,
  endRollback,
  freeze,
  rollbackBatches,
  runnerEnded,
  stopForVersion,
  storeBatches,
  toCapture,
} from "./handlers/waves.ts";
import { rolloutObject } from "./internal.ts";

type Parts = PublicParts & { orders: OrderStop };

export function createRolloutObject({ orders, ...parts }: Parts) {
  const called = createPublicHandlers(parts);
  const internal = {
    begin,
    beginResume: stoppingOrders(orders, beginResume),
    beginRollback,
    toCapture,
    storeBatches,
    freeze,
    advance: stoppingOrders(orders, advance),
    passGate: stoppingOrders(orders, passGate),
    launchBatch,
    record,
    endRollback: stoppingOrders(orders, endRollback),
    rollbackBatches,
    runnerEnded: stoppingOrders(orders, runnerEnded),
    repair,
    openInvocations,
    forgetBatches,
    stopForVersion: stoppingOrders(orders, stopForVersion),
  };
  return implement(rolloutObject, {
    handlers: {
      Rollout: onlySingleton(called.Rollout),
      Resume: onlySingleton(called.Resume),
      Cancel: onlySingleton(
        stoppingAndCounting(orders, (ctx: ObjectContext) => cancel(ctx, parts.readActor)),
      ),
      RollbackAll: onlySingleton(called.RollbackAll),
      Status: onlySingleton(called.Status),
      Plan: onlySingleton(called.Plan),
      History: onlySingleton(called.History),
      ...internal,
    },
    options: {
      // A large fleet has very many batch keys: a handler loads only those that it reads.
      enableLazyState: true,
      asTerminalError,
      handlers: Object.fromEntries(
        Object.keys(internal).map((name) => [name, { ingressPrivate: true }]),
      ),
    },
  });
}

/** Refuses other keys: each would be a second rollout at the same time. */
function onlySingleton<Context extends ObjectSharedContext, Request, Answer>(
  handler: (ctx: Context, request: Request) => Promise<Answer>,
) {
  return async (ctx: Context, request: Request): Promise<Answer> => {
    if (ctx.key !== singletonKey) {
      throw new ProblemError<RolloutProblemCode>({
        status: 404,
        code: "unknown_key",
        detail: `the only key of this service is "${singletonKey}"`,
      });
    }
    return handler(ctx, request);
  };
}
