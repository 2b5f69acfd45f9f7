/** `SentinelRolloutService`: the virtual object of the rollout. */
import { implement, type ObjectContext, type ObjectSharedContext } from "@restatedev/restate-sdk";
import { ProblemError } from "#kernel/problem.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { type RolloutProblemCode, singletonKey } from "./contract.ts";
import { advance } from "./handlers/advance.ts";
import { launchBatch } from "./handlers/batches.ts";
import { approve, skip } from "./handlers/end-wait.ts";
import { begin, beginResume, cancel, pause } from "./handlers/operations.ts";
import { type OrderStop, stoppingAndCounting, stoppingOrders } from "./handlers/order-stop.ts";
import { createPublicHandlers, type PublicParts } from "./handlers/public.ts";
import { record } from "./handlers/record.ts";
import { forgetBatches, openInvocations, repair } from "./handlers/repair.ts";
import { beginRollback } from "./handlers/rollback.ts";
import { windowsChanged } from "./handlers/wake.ts";
import {
  endRollback,
  freeze,
  rollbackBatches,
  runnerEnded,
  stopForVersion,
  storeBatches,
  toCapture,
} from "./handlers/waves.ts";
import {
  type Advance,
  type BeginRequest,
  type RecordRequest,
  type RunEnd,
  rolloutObject,
} from "./internal.ts";
import type { ApproveRequest, SkipRequest } from "./requests/contract.ts";

type Parts = PublicParts & { orders: OrderStop };

export function createRolloutObject({ orders, ...parts }: Parts) {
  const next = (ctx: ObjectContext, request: Advance) => advance(ctx, request, orders);
  const called = createPublicHandlers(parts);
  const internal = {
    begin: (ctx: ObjectContext, request: BeginRequest) => begin(ctx, request, parts.policy),
    beginResume: stoppingOrders(orders, beginResume),
    beginRollback,
    toCapture,
    storeBatches,
    freeze,
    advance: stoppingOrders(orders, next),
    passGate: stoppingOrders(orders, next),
    launchBatch,
    record: (ctx: ObjectContext, request: RecordRequest) => record(ctx, request, orders),
    endRollback: stoppingOrders(orders, endRollback),
    rollbackBatches,
    runnerEnded: stoppingOrders(orders, (ctx: ObjectContext, request: RunEnd) =>
      runnerEnded(ctx, request, orders),
    ),
    repair: (ctx: ObjectContext, request: { runner?: string }) => repair(ctx, request, orders),
    openInvocations,
    forgetBatches,
    stopForVersion: stoppingOrders(orders, stopForVersion),
    windowsChanged,
  };
  return implement(rolloutObject, {
    handlers: {
      Rollout: onlySingleton(called.Rollout),
      Resume: onlySingleton(called.Resume),
      Cancel: onlySingleton(
        stoppingAndCounting(orders, (ctx: ObjectContext) => cancel(ctx, parts.readActor)),
      ),
      Pause: onlySingleton(
        stoppingAndCounting(orders, (ctx: ObjectContext) => pause(ctx, parts.readActor)),
      ),
      Skip: onlySingleton((ctx: ObjectContext, request: SkipRequest) =>
        skip(ctx, request, parts.readActor),
      ),
      Approve: onlySingleton((ctx: ObjectContext, request: ApproveRequest) =>
        approve(ctx, request, parts.readActor),
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
