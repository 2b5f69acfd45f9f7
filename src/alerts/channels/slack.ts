/** Slack's incoming webhook: the message, and what an answer means. */
import type { IncomingWebhookSendArguments } from "@slack/webhook";
import type { Outcome } from "#alerts/outcome.ts";
import { cut, escapeText } from "#kernel/slack-text.ts";
import { postToSlack, type Delivery as SlackAnswer } from "#kernel/slack-webhook.ts";
import type { AlertMessage } from "./message.ts";
import { channelFault } from "./secrets.ts";
import type { Send } from "./sender.ts";
import { factsOf, headline, linksOf, markOf } from "./words.ts";

export const sendToSlack: Send<"slack"> = async (delivery) => {
  const { channel, address, message, timeoutMs, reach } = delivery;
  const rendered = renderSlack(message, channel);
  return judgeSlack(await postToSlack(address.href, rendered, { timeoutMs, reach }));
};

/** Slack's limits, in characters (docs.slack.dev/reference/block-kit/blocks). */
const textLimit = 3_000;

/**
 * Phones show the beginning of `text`, desktops that of the first block: both are the headline. The blocks
 * that have Markdown are escaped, so that a name formats nothing and mentions nobody.
 */
export function renderSlack(
  message: AlertMessage,
  { mention }: { mention?: string | undefined },
): IncomingWebhookSendArguments {
  const title = `${markOf(message)} ${headline(message)}`;
  const isMentioning = message.kind === "firing" && message.isTest !== true;
  const facts = factsOf(message).map(({ name, text }) => `${name}: ${escapeText(text)}`);
  const details = [...(isMentioning && mention !== undefined ? [mention] : []), ...facts];
  return {
    text: cut(escapeText(title), textLimit),
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: "vedette_alert", event_payload: { id: message.eventId } },
    blocks: [
      {
        type: "section",
        text: { type: "plain_text", text: cut(title, textLimit), emoji: true },
      },
      {
        type: "section",
        text: { type: "mrkdwn", text: cut(details.join("\n"), textLimit), verbatim: true },
      },
      {
        type: "context",
        elements: [{ type: "plain_text", text: cut(message.eventId, textLimit), emoji: false }],
      },
      ...openButtons(message),
    ],
  };
}

function openButtons(message: AlertMessage) {
  // A longer one would have the whole message refused.
  const links = linksOf(message).filter(({ href }) => href.length <= textLimit);
  if (links.length === 0) return [];
  const elements = links.map(({ text, href: url }) => ({
    type: "button" as const,
    action_id: text.toLowerCase().replace(" ", "-"),
    text: { type: "plain_text" as const, text },
    url,
  }));
  return [{ type: "actions" as const, elements }];
}

/** The webhook was deleted, its app removed, its channel archived: it is not about the message. */
const ofChannel = new Set([401, 403, 404, 405, 407, 410]);

/** A redirect is an answer of another address than Slack's. */
const isOfChannel = (status: number) => ofChannel.has(status) || (status >= 300 && status < 400);

export function judgeSlack(answer: SlackAnswer): Outcome {
  if (answer.outcome === "delivered") return { kind: "accepted" };
  if (answer.outcome === "refused") {
    if (isOfChannel(answer.status)) {
      return channelFault(`Slack refuses the webhook: ${answer.cause}`);
    }
    return { kind: "refused", cause: answer.cause };
  }
  const { cause, afterMs } = answer;
  return { kind: "retry", cause, ...(afterMs !== undefined && { afterMs }) };
}
