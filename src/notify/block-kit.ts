/** Renders a message as Slack's Block Kit, within Slack's limits. */
import type { IncomingWebhookSendArguments } from "@slack/webhook";
import { cut, escapeText } from "#kernel/slack-text.ts";
import type { ChatMessage } from "./contract.ts";

/** Slack's limits, in characters (docs.slack.dev/reference/block-kit/blocks). */
const headerLimit = 150;
const textLimit = 3_000;
const fieldLimit = 2_000;
const fieldCount = 10;

const marks: Record<ChatMessage["tone"], string> = {
  info: "🔵",
  success: "🟢",
  warning: "🟠",
  danger: "🔴",
};

/**
 * `text` is for notifications and clients that show no blocks. The message's id is in the last block for
 * people and in the metadata for programs: a repeated delivery has the same id.
 */
export function renderMessage(message: ChatMessage): IncomingWebhookSendArguments {
  const title = `${marks[message.tone]} ${message.title.toWellFormed()}`;
  const body = message.lines.map(escapeText).join("\n");
  const fields = message.fields.slice(0, fieldCount).map(({ name, value }) => ({
    type: "mrkdwn" as const,
    text: cut(`*${escapeText(name)}*\n${escapeText(value)}`, fieldLimit),
  }));
  return {
    text: cut(body === "" ? escapeText(title) : `${escapeText(title)}: ${body}`, textLimit),
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: "vedette_message", event_payload: { id: message.id } },
    blocks: [
      // Plain text: the only one that is not escaped.
      { type: "header", text: { type: "plain_text", text: cut(title, headerLimit), emoji: true } },
      ...(body === "" ? [] : [section(body)]),
      ...(fields.length === 0 ? [] : [{ type: "section" as const, fields }]),
      {
        type: "context",
        elements: [{ type: "mrkdwn", text: cut(escapeText(message.id), textLimit) }],
      },
    ],
  };
}

function section(text: string) {
  return {
    type: "section" as const,
    text: { type: "mrkdwn" as const, text: cut(text, textLimit) },
  };
}
