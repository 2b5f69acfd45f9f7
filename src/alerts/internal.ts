/** Handlers that the parts of the delivery call on each other. */
import { iface } from "@restatedev/restate-sdk";
import { z } from "zod";
import { AlertOrder, type AlertRetry, alertDelivery } from "#alerts/contract.ts";
import { NoticeOrder } from "./order.ts";
import type { EventRecord } from "./queue.ts";

export const alertQueue = iface.object(alertDelivery.name, {
  enqueue: iface.schemas({ input: z.union([AlertOrder, NoticeOrder]), output: z.null() }),
  wake: iface.json<{ generation: number }, null>(),
  retry: iface.json<{ eventId: string }, AlertRetry>(),
  goOn: iface.json<Record<string, never>, null>(),
});

/** Events that an operator sends again. */
export type RetriedEvents = { eventIds: string[]; by: string };

/** One object per queue stores the delivery status of its events, in order. */
export const alertRecord = iface.object("vedette.v1.AlertRecord", {
  save: iface.json<{ records: EventRecord[] }, null>(),
  retriedBy: iface.json<RetriedEvents, null>(),
});
