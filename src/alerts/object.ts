/**
 * The queue of a check's alert events, or of a topic's notices, at one channel, as a virtual object. It makes the HTTP requests itself, one per
 * invocation: the key's lock prevents concurrent requests, and an event costs one invocation. A receiver
 * that hangs delays only the events of this check, for at most one attempt's timeout.
 */
import { implement, type ObjectContext, rpc } from "@restatedev/restate-sdk";
import {
  type AlertEventProblemCode,
  directQueueKey,
  formatNoticeId,
  notices,
} from "#alerts/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { toTerminalError } from "#kernel/restate.ts";
import type { Attempt } from "./attempt.ts";
import { alertQueue, alertRecord } from "./internal.ts";
import { channelOf, eventIdOf, type Order, routeOrder } from "./order.ts";
import { type Outcome, tokenRefused } from "./outcome.ts";
import {
  add,
  applyOutcome,
  emptyQueue,
  isDueAtOnce,
  type Queue,
  retry,
  type Step,
  wake,
} from "./queue.ts";

const queueKey = "queue";

export type QueueParts = { attempt: Attempt; giveUpAfterMs: number };

export function createAlertQueue(parts: QueueParts) {
  return implement(alertQueue, {
    handlers: {
      enqueue: async (ctx, order) => {
        const routed = routeOrder(order);
        if (routed === null) return null;
        const queue = await readQueue(ctx);
        // Reading the clock is a journal entry of its own, which most events do not need.
        const nowMs = isDueAtOnce(queue, routed) ? null : await ctx.date.now();
        return proceed(ctx, add(queue, routed, nowMs), parts);
      },
      wake: async (ctx, { generation }) =>
        proceed(ctx, wake(await readQueue(ctx), generation), parts),
      goOn: async (ctx) => {
        const queue = await readQueue(ctx);
        return proceed(ctx, wake(queue, queue.generation), parts);
      },
      retry: async (ctx, { eventId }) => {
        const result = retry(await readQueue(ctx), eventId, await ctx.date.now());
        if (result === null) throw refuse(unknownEvent(eventId));
        if (result === "superseded") throw refuse(supersededEvent(eventId));
        proceedLater(ctx, result.step);
        return { event_ids: result.eventIds };
      },
    },
    options: {
      journalRetention: 0,
      handlers: {
        wake: { ingressPrivate: true },
        retry: { ingressPrivate: true },
      },
    },
  });
}

/** The ids of the rows that get the notices of a topic's key, besides the webhook of the settings. */
export type ChannelsOf = (topicKey: string, event: string | undefined) => string[];

/** Hands each notice to the queues of its channels. */
export function createNotices(channelsOf: ChannelsOf) {
  return implement(notices, {
    handlers: {
      post: async (ctx, notice) => {
        const { key: topic } = ctx;
        const { event } = notice.rollout ?? {};
        // Journaled: a handler that is repeated after a change of the settings does what it did before.
        const others = await ctx.run("read-channels", async () => channelsOf(topic, event));
        const atMs = await ctx.date.now();
        for (const channel of [topic.replace(/\/.*/, ""), ...others]) {
          const queue = directQueueKey(topic, channel);
          const eventId = formatNoticeId(queue, notice);
          ctx.sendClient(alertQueue, queue).enqueue({ eventId, notice, atMs, channel, topic });
        }
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}

async function readQueue(ctx: ObjectContext): Promise<Queue> {
  return (await ctx.get<Queue>(queueKey)) ?? emptyQueue;
}

/**
 * Makes the attempt that is due. The decision is stored first, together with a timer that repeats the
 * attempt if this invocation is killed.
 */
async function proceed(
  ctx: ObjectContext,
  step: Step,
  { attempt, giveUpAfterMs }: QueueParts,
): Promise<null> {
  carryOut(ctx, step);
  const { queue, post } = step;
  if (post === null) return null;
  // After a crash the journal lacks this step: the attempt is repeated before anything newer.
  const ended = await ctx.run("post-event", async () => ({
    beganAtMs: Date.now(),
    outcome: await attempt(post.order),
    atMs: Date.now(),
  }));
  report(ctx, post.order, ended.outcome);
  const result = { ...ended, random: ctx.rand.random() };
  proceedLater(ctx, applyOutcome(queue, result, giveUpAfterMs));
  return null;
}

/** Makes the next attempt in an invocation of its own: each is short, so that other calls run in between. */
function proceedLater(ctx: ObjectContext, step: Step): void {
  carryOut(ctx, step);
  const { generation } = step.queue;
  if (step.post !== null) ctx.sendClient(alertQueue, ctx.key).wake({ generation });
}

function carryOut(ctx: ObjectContext, { queue, wakeAfterMs, records }: Step): void {
  const { generation } = queue;
  ctx.set(queueKey, queue);
  if (wakeAfterMs !== null) {
    ctx.sendClient(alertQueue, ctx.key).wake({ generation }, rpc.sendOpts({ delay: wakeAfterMs }));
  }
  if (records.length > 0) ctx.sendClient(alertRecord, ctx.key).save({ records });
}

function report(ctx: ObjectContext, order: Order, outcome: Outcome): void {
  const event = eventIdOf(order);
  const channel = channelOf(order);
  switch (outcome.kind) {
    case "accepted":
      ctx.console.info("alert event accepted", { event, remark: outcome.remark });
      break;
    case "retry":
      if (outcome.isTokenRefused || outcome.isChannelFault) {
        const words = outcome.isTokenRefused ? tokenRefused : "the channel refuses all events";
        ctx.console.error(words, { event, channel, cause: outcome.cause });
      } else {
        ctx.console.warn("alert event not delivered yet", { event, cause: outcome.cause });
      }
      break;
    case "refused":
      ctx.console.error("alert event refused", { event, cause: outcome.cause });
      break;
    case "unconfigured":
      if ("notice" in order) {
        ctx.console.debug("notice not posted", { event, cause: outcome.cause });
      } else if (outcome.cause === undefined) {
        ctx.console.info("alert event not posted: no source in the settings", { event });
      } else {
        ctx.console.warn("alert event not posted", { event, cause: outcome.cause });
      }
      break;
  }
}

const refuse = toTerminalError;

function unknownEvent(eventId: string) {
  return new ProblemError<AlertEventProblemCode>({
    status: 404,
    code: "unknown_event",
    detail: `${eventId} is neither a dead letter nor waiting; \`vedette alerts dead-letters\` lists the dead letters`,
  });
}

function supersededEvent(eventId: string) {
  return new ProblemError<AlertEventProblemCode>({
    status: 409,
    code: "superseded_event",
    detail: `${eventId} cannot be sent again: a newer event of the check is being delivered, and this one would arrive after it`,
  });
}
