/** Stores the delivery status of each chat message in Postgres, apart from the delivery itself. */
import { iface, implement } from "@restatedev/restate-sdk";
import type { Database } from "#kernel/database.ts";

export type DeliveryRecord = {
  channel: string;
  /** `sending`: an attempt failed, and a retry follows. */
  outcome: "sending" | "delivered" | "dropped" | "refused" | "given_up";
  /** Why the last attempt failed, or why the message was dropped; null: it was delivered. */
  detail: string | null;
  attempts: number;
  atMs: number;
};

/** One object per message, so that writes about it keep their order. */
export const chatLog = iface.object("vedette.v1.ChatLog", {
  save: iface.json<DeliveryRecord, null>(),
});

export function createChatLog(database: Database) {
  return implement(chatLog, {
    handlers: {
      save: async (ctx, { channel, outcome, detail, attempts, atMs }) => {
        const row = [ctx.key, channel, outcome, detail, attempts, new Date(atMs)];
        await ctx.run("save-delivery", async () => {
          await database.query(saveDelivery, row);
        });
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}

const saveDelivery = `
  INSERT INTO chat_deliveries (message_id, channel, outcome, detail, attempts, updated_at)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (message_id) DO UPDATE SET outcome = excluded.outcome, detail = excluded.detail,
    attempts = excluded.attempts, updated_at = excluded.updated_at
  -- A delayed write must not overwrite a newer one.
  WHERE excluded.outcome <> 'sending'
    OR (chat_deliveries.outcome = 'sending' AND chat_deliveries.updated_at <= excluded.updated_at)`;
