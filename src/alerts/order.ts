/** An event and the one channel that it goes to. */
import type { AlertOrder, Environment } from "#alerts/contract.ts";
import type { DirectChannel } from "./rows/contract.ts";

export type RoutedOrder = AlertOrder &
  ({ channel: Environment } | { channel: null; target: DirectChannel });

/** null: the check notifies nobody. */
export function routeOrder(order: AlertOrder): RoutedOrder | null {
  const { channel, target } = order;
  if (channel !== null) return { ...order, channel };
  return target === undefined ? null : { ...order, channel, target };
}

/** The channel as people know it. */
export function channelOf(order: RoutedOrder): string {
  return order.channel ?? order.target.id;
}
