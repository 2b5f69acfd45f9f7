/** Sends events without the queues of Postgres: in order for each queue, again while a channel asks for patience. */
import { setTimeout as delay } from "node:timers/promises";
import type { QueuedOrder } from "#alerts/outbox.ts";
import type { Outcome } from "#alerts/outcome.ts";
import type { Log } from "#kernel/log.ts";

export type SendNow = (order: QueuedOrder["order"]) => Promise<Outcome>;

type Parts = {
  sendNow: SendNow;
  /** False once Postgres delivers again, which sends what is left. */
  isWanted: () => boolean;
  log: Log;
};

const mostAttempts = 100;
const retryMs = 5_000;

export function createSendInOrder({ sendNow, isWanted, log }: Parts) {
  const sending = new Map<string, Promise<void>>();
  const send = async (before: Promise<void> | undefined, order: QueuedOrder["order"]) => {
    await before;
    for (let attempts = 0; attempts < mostAttempts && isWanted(); attempts += 1) {
      const outcome = await sendNow(order).catch(
        (error: Error): Outcome => ({ kind: "retry", cause: error.message }),
      );
      if (outcome.kind !== "retry") return;
      log.warn({ cause: outcome.cause }, "alert event not sent from memory yet");
      await delay(outcome.afterMs ?? retryMs);
    }
  };
  return (orders: readonly QueuedOrder[]): void => {
    for (const { queue, order } of orders) sending.set(queue, send(sending.get(queue), order));
  };
}
