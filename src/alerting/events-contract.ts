/** Alert events on their way to the incident service: how they are handed over. */
import { iface } from "@restatedev/restate-sdk";
import { z } from "zod";
import { AlertTransition, environments } from "#monitor/contract.ts";

/** One alert event and where it goes. */
export const AlertOrder = z.object({
  transition: AlertTransition,
  environment: z.enum(environments),
  /** Of the check; null: nobody is told, and the order is dropped. */
  channel: z.enum(environments).nullable(),
  /** Of the check, for people. */
  name: z.string(),
});
export type AlertOrder = z.infer<typeof AlertOrder>;

/**
 * One object per check, keyed by its id: events leave in the order in which they were sent to it, at
 * least once each, however long the receiver is away.
 */
export const alertDelivery = iface.object("vedette.v1.AlertDelivery", {
  /** Takes an event over, and returns at once. Send to it one way; an event it knows already counts once. */
  enqueue: iface.schemas({ input: AlertOrder, output: z.null() }),
});
