/** `SentinelRolloutService`: the virtual object of a fleet's rollout. */
import {
  implement,
  type ObjectContext,
  type ObjectSharedContext,
  TerminalError,
} from "@restatedev/restate-sdk";
import { ProblemError } from "#kernel/problem.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import { launchBatch, record, recordServing } from "#rollout/handlers/batches.ts";
import { approve, skip, windowsChanged } from "#rollout/handlers/end-wait.ts";
import {
  type OrderStop,
  startRollback,
  stopForDrift,
  stoppingOrders,
} from "#rollout/handlers/stop.ts";
import {
  endRollback,
  freeze,
  rollbackBatches,
  runnerEnded,
  stopForVersion,
  storeBatches,
  toCapture,
} from "#rollout/handlers/waves.ts";
import type { ApproveRequest, SkipRequest } from "./calls-contract.ts";
import type { RolloutProblemCode } from "./contract.ts";
import { unknownKey } from "./fleets.ts";
import { advance } from "./handlers/advance.ts";
import { recordLook, toLook } from "./handlers/completed.ts";
import { begin, cancel, pause, startResume } from "./handlers/operations.ts";
import { createPublicHandlers, type PublicParts } from "./handlers/public.ts";
import { forgetBatches, openInvocations, repair } from "./handlers/repair.ts";
import { recordCaller } from "./handlers/runs.ts";
import { rolloutObject, type StartRequest } from "./internal.ts";

type Parts = PublicParts & { orders: OrderStop };

export function createRolloutObject({ orders, ...parts }: Parts) {
  const called = createPublicHandlers(parts);
  const stopping = { readActor: parts.readActor, orders };
  const internal = {
    begin: (ctx: ObjectContext, request: StartRequest) =>
      begin(ctx, request, parts.fleets.get(ctx.key).policy),
    startResume: stoppingOrders(orders, startResume),
    startRollback,
    recordCaller,
    toCapture,
    storeBatches,
    freeze,
    advance: stoppingOrders(orders, withOrders(orders, advance)),
    launchBatch,
    record: withOrders(orders, record),
    endRollback: stoppingOrders(orders, endRollback),
    rollbackBatches,
    runnerEnded: stoppingOrders(orders, withOrders(orders, runnerEnded)),
    repair: withOrders(orders, repair),
    openInvocations,
    forgetBatches,
    stopForDrift: withOrders(orders, stopForDrift),
    stopForVersion: stoppingOrders(orders, stopForVersion),
    windowsChanged,
    recordServing,
    toLook,
    recordLook: withOrders(orders, recordLook),
  };
  /** Refuses other keys, except a rollout of a lost fleet. After the handler: a repeated one does what it did. */
  const ofFleet =
    <Context extends ObjectSharedContext, Request, Answer>(
      handler: (ctx: Context, request: Request) => Promise<Answer>,
    ) =>
    async (ctx: Context, request: Request): Promise<Answer> => {
      const { names } = parts.fleets;
      try {
        return await handler(ctx, request);
      } catch (error) {
        throw isIllegal(error) && !names.includes(ctx.key) ? unknownKey(ctx.key, names) : error;
      }
    };
  return implement(rolloutObject, {
    handlers: {
      Rollout: ofFleet(called.Rollout),
      Resume: ofFleet(called.Resume),
      Cancel: ofFleet((ctx: ObjectContext) => cancel(ctx, stopping)),
      Pause: ofFleet((ctx: ObjectContext) => pause(ctx, stopping)),
      Skip: ofFleet((ctx: ObjectContext, request: SkipRequest) =>
        skip(ctx, request, parts.readActor),
      ),
      Approve: ofFleet((ctx: ObjectContext, request: ApproveRequest) =>
        approve(ctx, request, parts.readActor),
      ),
      RollbackAll: ofFleet(called.RollbackAll),
      Status: ofFleet(called.Status),
      Plan: ofFleet(called.Plan),
      History: ofFleet(called.History),
      ...internal,
    },
    options: {
      // A large fleet has very many batch keys: a handler loads only those that it reads.
      enableLazyState: true,
      asTerminalError,
      handlers: {
        ...Object.fromEntries(
          Object.keys(internal).map((name) => [name, { ingressPrivate: true }]),
        ),
        ...{ Status: unkept, Plan: unkept, History: unkept },
      },
    },
  });
}

function isIllegal(error: unknown): boolean {
  const illegal: RolloutProblemCode = "illegal_operation";
  // An error of a handler that this one called arrives as a terminal error.
  const code = error instanceof TerminalError ? error.metadata?.["code"] : undefined;
  return (error instanceof ProblemError ? error.code : code) === illegal;
}

function withOrders<Request, Answer>(
  orders: OrderStop,
  handler: (ctx: ObjectContext, request: Request, orders: OrderStop) => Promise<Answer>,
): (ctx: ObjectContext, request: Request) => Promise<Answer> {
  return (ctx, request) => handler(ctx, request, orders);
}
