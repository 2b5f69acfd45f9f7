/** One virtual object per chat channel: messages in order, paced, retried for a day. */
import { implement, type ObjectContext } from "@restatedev/restate-sdk";
import { backoffMs } from "#kernel/backoff.ts";
import { postToSlack } from "#kernel/slack-webhook.ts";
import { renderMessage } from "./block-kit.ts";
import { chatLog, type DeliveryRecord } from "./chat-log.ts";
import {
  type ChatChannelName,
  type ChatMessage,
  chatChannel,
  chatChannels,
  fleetOfChannel,
} from "./contract.ts";

export type ChatChannelParts = {
  /** The webhook URL of a channel, or of a fleet's own rollouts; empty: messages to it are dropped. */
  webhookUrlOf: (channel: ChatChannelName, fleet?: string) => string;
  /** The minimum time between two attempts on a channel: Slack accepts about one message a second. */
  spacingMs: number;
  /** After this time a message is given up, so that those behind it are delivered. Default: one day. */
  giveUpAfterMs?: number;
  /** True if the status of each delivery is sent to the `chatLog`. */
  keepsLog?: boolean;
};

const attemptTimeoutMs = 5_000;
const oneDayMs = 24 * 60 * 60_000;

/** When the channel's last attempt ended, in ms since 1970; null before the first. */
const lastAttemptKey = "lastAttemptMs";

/** Delivers one message at a time: while it waits for a retry, the later messages queue behind it. */
export function createChatChannel(parts: ChatChannelParts) {
  const { webhookUrlOf, spacingMs, giveUpAfterMs = oneDayMs } = parts;
  return implement(chatChannel, {
    handlers: {
      Post: async (ctx, message) => {
        const url = urlOf(ctx.key, webhookUrlOf);
        const note = createNote(ctx, message, parts.keepsLog === true);
        if (url === "") {
          ctx.console.debug("chat message dropped", { channel: ctx.key, message: message.id });
          await note({ outcome: "dropped", detail: "no webhook is set", attempts: 0 });
          return null;
        }
        await deliver(ctx, message, { url, spacingMs, giveUpAfterMs, note });
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}

function urlOf(key: string, webhookUrlOf: ChatChannelParts["webhookUrlOf"]): string {
  const fleet = fleetOfChannel(key);
  const channel = chatChannels.find((name) => name === key.split(":")[0]);
  return channel === undefined ? "" : webhookUrlOf(channel, fleet);
}

type LogEntry = Pick<DeliveryRecord, "outcome" | "attempts"> & { detail?: string | undefined };
type Note = (noted: LogEntry) => Promise<void>;

/** Sends to the log one way, so that a database that is down delays no message. */
function createNote(ctx: ObjectContext, message: ChatMessage, keepsLog: boolean): Note {
  return async ({ outcome, attempts, detail }) => {
    if (!keepsLog) return;
    const atMs = await ctx.date.now();
    const entry = { channel: ctx.key, outcome, attempts, atMs, detail: detail ?? null };
    ctx.sendClient(chatLog, message.id).save(entry);
  };
}

type Terms = { url: string; spacingMs: number; giveUpAfterMs: number; note: Note };

async function deliver(ctx: ObjectContext, message: ChatMessage, terms: Terms): Promise<void> {
  await pace(ctx, terms.spacingMs);
  const { url, note } = terms;
  const rendered = renderMessage(message);
  const giveUpAtMs = (await ctx.date.now()) + terms.giveUpAfterMs;
  for (let attempt = 0; ; attempt++) {
    const attempts = attempt + 1;
    const delivery = await ctx.run("post-message", () =>
      postToSlack(url, rendered, { timeoutMs: attemptTimeoutMs }),
    );
    const endedAtMs = await ctx.date.now();
    ctx.set(lastAttemptKey, endedAtMs);
    if (delivery.outcome === "delivered") return note({ outcome: "delivered", attempts });
    const detail = delivery.cause;
    const fields = { channel: ctx.key, message: message.id, cause: detail };
    if (delivery.outcome === "refused") {
      ctx.console.error("chat message refused", fields);
      return note({ outcome: "refused", attempts, detail });
    }
    const waitMs = Math.max(waitBeforeMs(attempt, delivery.afterMs), terms.spacingMs);
    if (endedAtMs + waitMs > giveUpAtMs) {
      ctx.console.error("chat message given up", fields);
      return note({ outcome: "given_up", attempts, detail });
    }
    ctx.console.warn("chat message not delivered yet", { ...fields, retryInMs: waitMs });
    await note({ outcome: "sending", attempts, detail });
    await ctx.sleep(waitMs);
  }
}

async function pace(ctx: ObjectContext, spacingMs: number): Promise<void> {
  const lastMs = await ctx.get<number>(lastAttemptKey);
  if (lastMs === null) return;
  const waitMs = lastMs + spacingMs - (await ctx.date.now());
  // Never longer than the spacing, also after the clock was set back.
  if (waitMs > 0) await ctx.sleep(Math.min(waitMs, spacingMs));
}

const backoff = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** The upper bound for a Retry-After. */
const maxRetryAfterMs = 60 * 60_000;

/**
 * The backoff after failed attempt number `attempt` (from 0): 1 s, 2 s, 4 s … 5 min, or the Retry-After
 * if that is longer. A service that always asks for an immediate retry would else be called all day.
 */
export function waitBeforeMs(attempt: number, retryAfterMs = 0): number {
  const ownMs = backoffMs(attempt, backoff);
  return Math.max(ownMs, Math.min(retryAfterMs, maxRetryAfterMs));
}
