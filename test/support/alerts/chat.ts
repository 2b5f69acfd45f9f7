/** The services and the delivery of notices, without those for operators. */
import { Registry } from "prom-client";
import type { AnyChannel, SendToChannel } from "#alerts/channels/message.ts";
import { createSendToChannel } from "#alerts/channels/send.ts";
import { type ChannelsOf, createAlertServices } from "#alerts/services.ts";
import type { Database } from "#kernel/database.ts";
import { createLog, type Log } from "#kernel/log.ts";
import { readActor } from "../signed-call.ts";
import { noLinks } from "./alert-builders.ts";

export type Chat = {
  database: Database;
  webhookUrlOf: (topicKey: string) => string;
  log?: Log;
  spacingMs?: number;
  giveUpAfterMs?: number;
  timeoutMs?: number;
  channelsOf?: ChannelsOf;
  /** Instead of the real senders. */
  send?: SendToChannel;
  channels?: AnyChannel[];
};

/** Its delivery is to be started. */
export function createChat(chat: Chat) {
  const { spacingMs = 0, giveUpAfterMs = 86_400_000, timeoutMs = 5_000 } = chat;
  const { log = createLog({ level: "silent", format: "json" }), channels = [] } = chat;
  const senders = { readSecret: () => undefined, timeoutMs, nowMs: Date.now };
  return createAlertServices({
    sourceOf: () => undefined,
    linkTo: noLinks,
    attemptTimeoutMs: timeoutMs,
    giveUpAfterMs,
    keepDays: 30,
    database: chat.database,
    recordAccepted: async () => {},
    notifyDrill: async () => {},
    registry: new Registry(),
    log,
    readActor,
    send: chat.send ?? createSendToChannel({ ...senders, slackSpacingMs: spacingMs }),
    webhookUrlOf: chat.webhookUrlOf,
    channelsOf: chat.channelsOf ?? (() => []),
    readChannels: async () => channels,
  });
}
