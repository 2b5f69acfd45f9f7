/** An event and the one channel that it goes to. */
import type { z } from "zod";
import type { AlertOrder, Environment, PostedNotice } from "#alerts/contract.ts";
import type { Trace } from "#kernel/tracing.ts";
import type { DirectChannel } from "./rows/contract.ts";

export type RoutedOrder = AlertOrder &
  ({ channel: Environment } | { channel: null; target: DirectChannel });

export type NoticeOrder = {
  eventId: string;
  notice: z.infer<typeof PostedNotice>;
  atMs: number;
  /** The topic, for the webhook that the settings name; else the id of a row. */
  channel: string;
  /** The key that it was posted to. */
  topic: string;
  transition?: never;
};

/** `trace`: the span of the event; of a notice, that has it itself. Absent: it is not traced. */
export type Order = (RoutedOrder | NoticeOrder) & { trace?: Trace };

/** null: the check notifies nobody. */
export function routeOrder(order: AlertOrder): RoutedOrder | null {
  const { channel, target } = order;
  if (channel !== null) return { ...order, channel };
  return target === undefined ? null : { ...order, channel, target };
}

/** The channel as people know it. */
export function channelOf(order: Order): string {
  return order.channel ?? order.target.id;
}

/** Apart from the environments: a channel may have the name of one as its id. */
export function drilledChannelOf(order: Order): string {
  return order.channel ?? `@${order.target.id}`;
}

export function eventIdOf(order: Order): string {
  return "notice" in order ? order.eventId : order.transition.eventId;
}

/** The span of its message; undefined: it is not traced. */
export function traceOf(order: Order): Trace | undefined {
  return order.trace ?? ("notice" in order ? order.notice.trace : undefined);
}

/** The same for all notices of a rollout. */
export function rolloutKeyOf({ notice }: Pick<NoticeOrder, "notice">): string {
  return `rollout:${notice.rollout?.id ?? notice.id}`;
}
