/** What the parts of the delivery call on each other. */
import { iface } from "@restatedev/restate-sdk";
import { z } from "zod";
import { AlertOrder, type AlertRetry, alertDelivery } from "#alerting/events-contract.ts";
import type { Outcome } from "./outcome.ts";
import type { EventRecord, RoutedOrder } from "./queue.ts";

/** `generation` is the queue's when it was sent. */
export type Delivery = { order: RoutedOrder; generation: number };

export type Delivered = { eventId: string; generation: number; outcome: Outcome; atMs: number };

/** The queue: every handler is short. */
export const alertQueue = iface.object(alertDelivery.name, {
  enqueue: iface.schemas({ input: AlertOrder, output: z.null() }),
  wake: iface.json<{ generation: number }, null>(),
  settled: iface.json<Delivered, null>(),
  retry: iface.json<{ eventId: string }, AlertRetry>(),
});

/** One object per check makes its requests: the key's lock is what keeps two apart, whatever happens. */
export const alertSender = iface.object("vedette.v1.AlertSender", {
  deliver: iface.json<Delivery, null>(),
});

/** One object per check writes down what became of its events, in order. */
export const alertRecord = iface.object("vedette.v1.AlertRecord", {
  save: iface.json<{ records: EventRecord[] }, null>(),
});
