/** The services that deliver notices, without a database. */
import { createAttempt } from "#alerts/attempt.ts";
import type { FindChannel, SendToChannel } from "#alerts/channels/message.ts";
import { createSendToChannel } from "#alerts/channels/send.ts";
import { type ChannelsOf, createAlertQueue, createNotices } from "#alerts/object.ts";
import type { EventRecord } from "#alerts/queue.ts";
import { createAlertRecorder } from "#alerts/services.ts";
import { noLinks } from "./alert-builders.ts";

export type Chat = {
  webhookUrlOf: (topicKey: string) => string;
  spacingMs?: number;
  giveUpAfterMs?: number;
  timeoutMs?: number;
  channelsOf?: ChannelsOf;
  /** Instead of the real senders. */
  send?: SendToChannel;
  findChannel?: FindChannel;
  save?: (record: EventRecord) => Promise<void>;
};

export function createChat(chat: Chat) {
  const { spacingMs = 0, giveUpAfterMs = 86_400_000, timeoutMs = 5_000 } = chat;
  const { save = async () => {}, webhookUrlOf } = chat;
  const attempt = createAttempt({
    sourceOf: () => undefined,
    linkTo: noLinks,
    timeoutMs,
    send:
      chat.send ??
      createSendToChannel({
        readSecret: () => undefined,
        timeoutMs,
        nowMs: Date.now,
        slackSpacingMs: spacingMs,
      }),
    findChannel: chat.findChannel ?? (async () => undefined),
    webhookUrlOf,
  });
  return [
    createNotices(chat.channelsOf ?? (() => [])),
    createAlertQueue({ attempt, giveUpAfterMs }),
    createAlertRecorder({
      store: { save, retriedBy: async () => {} },
      recordAccepted: async () => {},
      notifyDrill: () => {},
    }),
  ];
}
