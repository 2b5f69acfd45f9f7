/** The queue of a check's alert events, as a virtual object: it decides, others post and write down. */
import { implement, type ObjectContext, rpc } from "@restatedev/restate-sdk";
import type { AlertEventProblemCode } from "#alerting/events-contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { toTerminalError } from "#kernel/terminal.ts";
import { alertQueue, alertRecord, alertSender, type Delivered } from "./internal.ts";
import { add, emptyQueue, type Queue, retry, type Step, settle, wake } from "./queue.ts";

const queueKey = "queue";

export function createAlertQueue({ giveUpAfterMs }: { giveUpAfterMs: number }) {
  return implement(alertQueue, {
    handlers: {
      enqueue: async (ctx, order) => {
        const { channel } = order;
        if (channel === null) return null;
        const queue = await readQueue(ctx);
        return perform(ctx, add(queue, { ...order, channel }, await ctx.date.now()));
      },
      wake: async (ctx, { generation }) => perform(ctx, wake(await readQueue(ctx), generation)),
      settled: async (ctx, delivered) => {
        report(ctx, delivered);
        const settlement = { ...delivered, random: ctx.rand.random() };
        return perform(ctx, settle(await readQueue(ctx), settlement, giveUpAfterMs));
      },
      retry: async (ctx, { eventId }) => {
        const answer = retry(await readQueue(ctx), eventId, await ctx.date.now());
        if (answer === null) throw refuse(unknownEvent(eventId));
        if (answer === "superseded") throw refuse(supersededEvent(eventId));
        perform(ctx, answer.step);
        return { event_ids: answer.eventIds };
      },
    },
    options: {
      journalRetention: 0,
      handlers: {
        wake: { ingressPrivate: true },
        settled: { ingressPrivate: true },
        retry: { ingressPrivate: true },
      },
    },
  });
}

async function readQueue(ctx: ObjectContext): Promise<Queue> {
  return (await ctx.get<Queue>(queueKey)) ?? emptyQueue;
}

/** Writes the decision down and sets in motion what it asks for. */
function perform(ctx: ObjectContext, step: Step): null {
  const { queue, post, wakeAfterMs, records } = step;
  const { generation } = queue;
  ctx.set(queueKey, queue);
  if (post !== null) {
    ctx.sendClient(alertSender, ctx.key).deliver({ order: post.order, generation });
  }
  if (wakeAfterMs !== null) {
    ctx.sendClient(alertQueue, ctx.key).wake({ generation }, rpc.sendOpts({ delay: wakeAfterMs }));
  }
  if (records.length > 0) ctx.sendClient(alertRecord, ctx.key).save({ records });
  return null;
}

function report(ctx: ObjectContext, { eventId: event, outcome }: Delivered): void {
  switch (outcome.kind) {
    case "accepted":
      ctx.console.info("alert event accepted", { event });
      break;
    case "retry":
      ctx.console.warn("alert event not delivered yet", { event, cause: outcome.cause });
      break;
    case "refused":
      ctx.console.error("alert event refused", { event, cause: outcome.cause });
      break;
    case "unconfigured":
      ctx.console.info("alert event not posted: no source in the settings", { event });
      break;
  }
}

const refuse = toTerminalError;

function unknownEvent(eventId: string) {
  return new ProblemError<AlertEventProblemCode>({
    status: 404,
    code: "unknown_event",
    detail: `${eventId} is no dead letter and waits for nothing; \`vedette alerts dead-letters\` lists those that do`,
  });
}

function supersededEvent(eventId: string) {
  return new ProblemError<AlertEventProblemCode>({
    status: 409,
    code: "superseded_event",
    detail: `${eventId} is followed by a newer event that is on its way; sent now, it would arrive after it`,
  });
}
