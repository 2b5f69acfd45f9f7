/** Where an event goes, and what is sent there, for people. */
import type { FindChannel } from "./channels/message.ts";
import { toMessage } from "./channels/to-message.ts";
import type { Environment } from "./contract.ts";
import type { RoutedOrder } from "./order.ts";
import { type LinkTo, renderEvent } from "./payload.ts";
import type { SourceOf } from "./source.ts";

/** An order as the database has it, with the name of its channel. */
export type StoredOrder = Pick<RoutedOrder, "environment" | "name" | "transition"> & {
  channel: string;
};

type Preview = { address: string; body: object };

/** undefined: the settings name no source, or the channel's row is gone or cannot be read. */
export type PreviewEvent = (order: StoredOrder) => Promise<Preview | undefined>;

type Parts = { sourceOf: SourceOf; linkTo: LinkTo; findChannel: FindChannel };

export function createPreview({ sourceOf, linkTo, findChannel }: Parts): PreviewEvent {
  return async ({ channel, ...order }) => {
    if (isSentDirectly(order)) {
      const target = await findChannel(channel);
      if (target === undefined || target === "removed") return undefined;
      return { address: target.url, body: toMessage({ ...order, channel: null, target }, linkTo) };
    }
    const environment = channel as Environment;
    const source = sourceOf(environment);
    if (source === undefined) return undefined;
    const routed = { ...order, channel: environment };
    return { address: source.url, body: renderEvent(routed, { kind: source.kind, linkTo }) };
  };
}

/** Only the queue of a check at such a channel has an `@` in its key. */
function isSentDirectly({ transition }: Pick<RoutedOrder, "transition">): boolean {
  return transition.eventId.includes("@");
}
