/** `SentinelRolloutService`: the virtual object that is the rollout. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import { ProblemError } from "#kernel/problem.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { launchBatch, record } from "./batch-steps.ts";
import { type RolloutProblemCode, singletonKey } from "./contract.ts";
import { begin, beginResume, beginRollback, cancel } from "./decisions.ts";
import { createFacade, type FacadeParts } from "./facade.ts";
import { passGate } from "./gate-steps.ts";
import { rolloutObject } from "./internal.ts";
import { type OrderStop, stoppingAndCounting, stoppingOrders } from "./order-stop.ts";
import { forgetBatches, openInvocations, repair } from "./repair.ts";
import {
  advance,
  endRollback,
  freeze,
  rollbackBatches,
  runnerEnded,
  stopForVersion,
  storeBatches,
  toCapture,
} from "./steps.ts";

const isPrivate = { ingressPrivate: true };

export function createRolloutObject({ orders, ...parts }: FacadeParts & { orders: OrderStop }) {
  const facade = createFacade(parts);
  return implement(rolloutObject, {
    handlers: {
      Rollout: onlySingleton(facade.Rollout),
      Resume: onlySingleton(facade.Resume),
      Cancel: onlySingleton(
        stoppingAndCounting(orders, (ctx: ObjectContext) => cancel(ctx, parts.readActor)),
      ),
      RollbackAll: onlySingleton(facade.RollbackAll),
      Status: onlySingleton(facade.Status),
      Plan: onlySingleton(facade.Plan),
      History: onlySingleton(facade.History),
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
    },
    options: {
      // The keys of a large fleet's batches are many: a handler reads those that it needs.
      enableLazyState: true,
      asTerminalError,
      handlers: {
        begin: isPrivate,
        beginResume: isPrivate,
        beginRollback: isPrivate,
        toCapture: isPrivate,
        storeBatches: isPrivate,
        freeze: isPrivate,
        advance: isPrivate,
        passGate: isPrivate,
        launchBatch: isPrivate,
        record: isPrivate,
        endRollback: isPrivate,
        rollbackBatches: isPrivate,
        runnerEnded: isPrivate,
        repair: isPrivate,
        openInvocations: isPrivate,
        forgetBatches: isPrivate,
        stopForVersion: isPrivate,
      },
    },
  });
}

/** The object accepts one key only (spec, "Errors" 2). */
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
