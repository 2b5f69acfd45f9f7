/** Slack's incoming webhook: the message, and what an answer means. */
import type { IncomingWebhookSendArguments } from "@slack/webhook";
import type { Outcome } from "#alerts/outcome.ts";
import { cut, escapeText } from "#kernel/slack-text.ts";
import { postToSlack, type Delivery as SlackAnswer } from "#kernel/slack-webhook.ts";
import type { ChannelMessage, NoticeMessage } from "./message.ts";
import { channelFault } from "./secrets.ts";
import type { Send } from "./sender.ts";
import { factsOf, headline, isFailure, linksOf, markOf } from "./words.ts";

export const sendToSlack: Send<"slack"> = async (delivery) => {
  const { channel, address, message, timeoutMs, reach } = delivery;
  const rendered = renderSlack(message, channel);
  return gradeSlack(await postToSlack(address.href, rendered, { timeoutMs, reach }));
};

/** Slack's limits, in characters (docs.slack.dev/reference/block-kit/blocks). */
const headerLimit = 150;
const textLimit = 3_000;
const fieldLimit = 2_000;
const fieldCount = 10;

/** Verbatim: else an `@channel` or an address in a reason, which may be a fleet's, would be one. */
const words = { type: "mrkdwn" as const, verbatim: true };

/**
 * Phones show the beginning of `text`, desktops that of the first block: both are the headline. The blocks
 * that have Markdown are escaped, so that a name formats nothing and mentions nobody.
 */
export function renderSlack(
  message: ChannelMessage,
  { mention }: { mention?: string | undefined },
): IncomingWebhookSendArguments {
  if (message.kind === "notice") return renderNotice(message, mention);
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
        text: { ...words, text: cut(details.join("\n"), textLimit) },
      },
      {
        type: "context",
        elements: [{ type: "plain_text", text: cut(message.eventId, textLimit), emoji: false }],
      },
      ...openButtons(message),
    ],
  };
}

/**
 * `text` is for notifications and clients that show no blocks. The notice's id is in the last block for
 * people and in the metadata for programs: a repeated delivery has the same id.
 */
function renderNotice(message: NoticeMessage, mention?: string): IncomingWebhookSendArguments {
  const { id, lines, title: subject, fields: given } = message.notice;
  const title = `${markOf(message)} ${subject.toWellFormed()}`;
  const body = [...(isFailure(message) && mention ? [mention] : []), ...lines.map(escapeText)];
  const text = body.join("\n");
  const fields = given.slice(0, fieldCount).map(({ name, value }) => ({
    ...words,
    text: cut(`*${escapeText(name)}*\n${escapeText(value)}`, fieldLimit),
  }));
  return {
    text: cut(text === "" ? escapeText(title) : `${escapeText(title)}: ${text}`, textLimit),
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: "vedette_message", event_payload: { id } },
    blocks: [
      // Plain text: the only one that is not escaped.
      { type: "header", text: { type: "plain_text", text: cut(title, headerLimit), emoji: true } },
      ...(text === ""
        ? []
        : [{ type: "section", text: { ...words, text: cut(text, textLimit) } } as const]),
      ...(fields.length === 0 ? [] : [{ type: "section" as const, fields }]),
      { type: "context", elements: [{ type: "mrkdwn", text: cut(escapeText(id), textLimit) }] },
    ],
  };
}

function openButtons(message: ChannelMessage) {
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

export function gradeSlack(answer: SlackAnswer): Outcome {
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
