/** One virtual object per chat channel: messages in order, paced, retried for a day. */
import { implement, type ObjectContext } from "@restatedev/restate-sdk";
import { renderMessage } from "./block-kit.ts";
import { type ChatChannelName, type ChatMessage, chatChannel, chatChannels } from "./contract.ts";
import { attemptDelivery, backoffMs } from "./delivery.ts";

export type ChatChannelParts = {
  /** The webhook URL of a channel; empty: messages to it are dropped. */
  webhookUrlOf: (channel: ChatChannelName) => string;
  /** The least time between two messages: Slack takes about one a second. */
  spacingMs: number;
};

/** A message that could not be delivered for so long is given up, for those behind it. */
const giveUpAfterMs = 24 * 60 * 60_000;

/** While it waits, the object's other messages wait in their order: it takes one at a time. */
export function createChatChannel(parts: ChatChannelParts) {
  return implement(chatChannel, {
    handlers: {
      Post: async (ctx, message) => {
        const channel = chatChannels.find((name) => name === ctx.key);
        const url = channel === undefined ? "" : parts.webhookUrlOf(channel);
        if (url !== "") await deliver(ctx, message, { url, spacingMs: parts.spacingMs });
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}

type Target = { url: string; spacingMs: number };

async function deliver(ctx: ObjectContext, message: ChatMessage, target: Target): Promise<void> {
  await pace(ctx, target.spacingMs);
  const rendered = renderMessage(message);
  for (let attempt = 0, waitedMs = 0; waitedMs < giveUpAfterMs; attempt++) {
    const delivery = await ctx.run("post-message", () => attemptDelivery(target.url, rendered));
    ctx.set("lastAttemptMs", await ctx.date.now());
    if (delivery.outcome === "delivered") return;
    const fields = { channel: ctx.key, message: message.id, cause: delivery.cause };
    if (delivery.outcome === "refused") {
      ctx.console.error("chat message refused", fields);
      return;
    }
    const waitMs = backoffMs(attempt, delivery.afterMs);
    ctx.console.warn("chat message not delivered yet", { ...fields, retryInMs: waitMs });
    await ctx.sleep(waitMs);
    waitedMs += waitMs + 1;
  }
  ctx.console.error("chat message given up", { channel: ctx.key, message: message.id });
}

async function pace(ctx: ObjectContext, spacingMs: number): Promise<void> {
  const last = await ctx.get<number>("lastAttemptMs");
  if (last === null) return;
  const waitMs = last + spacingMs - (await ctx.date.now());
  if (waitMs > 0) await ctx.sleep(waitMs);
}
