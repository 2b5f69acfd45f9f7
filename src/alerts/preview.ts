/** Where an event goes, and what is sent there, for people. */
import { renderMail } from "./channels/email/mail.ts";
import type { ChannelMessage, FindChannel } from "./channels/message.ts";
import { renderPagerDuty } from "./channels/pagerduty.ts";
import { renderSlack } from "./channels/slack.ts";
import { toMessage, toNoticeMessage } from "./channels/to-message.ts";
import { renderWebhook } from "./channels/webhook.ts";
import type { Environment } from "./contract.ts";
import type { NoticeOrder, RoutedOrder } from "./order.ts";
import { type LinkTo, renderEvent } from "./payload.ts";
import type { ChannelOf, DirectChannel } from "./rows/contract.ts";
import type { SourceOf } from "./source.ts";

/** An order as the database has it, with the name of its channel. */
export type StoredOrder =
  | NoticeOrder
  | (Pick<RoutedOrder, "environment" | "name" | "transition"> & { channel: string });

type Preview = { address: string; body: object };

/** undefined: the settings name no source, or the channel's row is gone or cannot be read. */
export type PreviewEvent = (order: StoredOrder) => Promise<Preview | undefined>;

type Parts = { sourceOf: SourceOf; linkTo: LinkTo; findChannel: FindChannel };

export function createPreview({ sourceOf, linkTo, findChannel }: Parts): PreviewEvent {
  return async (stored) => {
    if ("notice" in stored) {
      // The address is a secret: its setting is named.
      const address = `slack.${stored.channel}_webhook_url`;
      return { address, body: renderSlack(toNoticeMessage(stored, linkTo), {}) };
    }
    const { channel, ...order } = stored;
    if (isSentDirectly(order)) {
      const target = await findChannel(channel);
      if (target === undefined || target === "removed") return undefined;
      const message = toMessage({ ...order, channel: null, target }, linkTo);
      return { address: target.url, body: renderers[target.kind](message, target as never) };
    }
    const environment = channel as Environment;
    const source = sourceOf(environment);
    if (source === undefined) return undefined;
    const routed = { ...order, channel: environment };
    return { address: source.url, body: renderEvent(routed, { kind: source.kind, linkTo }) };
  };
}

/** As they are sent, without what is secret; of a mail to several the one to the first. */
const renderers: Record<DirectChannel["kind"], (of: ChannelMessage, to: never) => object> = {
  slack: renderSlack,
  webhook: renderWebhook,
  email: (of, to: ChannelOf<"email">) => renderMail(of, to, to.to[0] ?? ""),
  pagerduty: renderPagerDuty,
};

/** Only the queue of a check at such a channel has an `@` in its key. */
function isSentDirectly({ transition }: Pick<RoutedOrder, "transition">): boolean {
  return transition.eventId.includes("@");
}
