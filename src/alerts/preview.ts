/** Shows people where an event goes, and what is sent there. */
import type { ChannelMessage, FindChannel } from "#alerts/channels/message.ts";
import { renderSlack } from "#alerts/channels/slack.ts";
import { renderMail } from "./channels/email/mail.ts";
import { renderPagerDuty } from "./channels/pagerduty.ts";
import { renderSyslog } from "./channels/syslog.ts";
import { toMessage } from "./channels/to-message.ts";
import { renderWebhook } from "./channels/webhook.ts";
import { type Environment, topics } from "./contract.ts";
import type { NoticeOrder, Order, RoutedOrder } from "./order.ts";
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
    const order = stored as Order;
    const { channel } = stored;
    if (topics.some((topic) => topic === channel)) {
      // The address is a secret: its setting is named.
      const address = `slack.${channel}_webhook_url`;
      return { address, body: renderSlack(toMessage(order, linkTo), {}) };
    }
    const target = isSentBySource(stored)
      ? { kind: "incident" as const, environment: channel as Environment }
      : await findChannel(channel);
    if (target === undefined || target === "removed") return undefined;
    if (target.kind !== "incident") {
      const body = renderers[target.kind](toMessage(order, linkTo), target as never);
      return { address: target.url, body };
    }
    const { environment } = target;
    const source = sourceOf(environment);
    const terms = source && { kind: source.kind, linkTo, environment };
    return terms && { address: source.url, body: renderEvent(order, terms) };
  };
}

/** Events as they are sent, without secrets; of a mail to several recipients the one to the first. */
const renderers: Record<DirectChannel["kind"], (of: ChannelMessage, to: never) => object> = {
  slack: renderSlack,
  webhook: renderWebhook,
  email: (of, to: ChannelOf<"email">) => renderMail(of, to, to.to[0] ?? ""),
  pagerduty: renderPagerDuty,
  syslog: renderSyslog,
};

/** Only the queue of a check at a channel that is sent to directly has an `@` in its key, and so has each notice's. */
function isSentBySource(order: StoredOrder): boolean {
  return !("notice" in order) && !order.transition.eventId.includes("@");
}
