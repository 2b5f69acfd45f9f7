/** A message as Slack's Block Kit has it, within Slack's limits. */
import type { IncomingWebhookSendArguments } from "@slack/webhook";
import type { ChatMessage } from "./contract.ts";

/** Slack's limits, in characters (api.slack.com/reference/block-kit/blocks). */
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

/** `text` is what notifications and readers without blocks show; the id tells a repetition. */
export function renderMessage(message: ChatMessage): IncomingWebhookSendArguments {
  const title = `${marks[message.tone]} ${message.title}`;
  const body = message.lines.map(escapeText).join("\n");
  const fields = message.fields.slice(0, fieldCount).map(({ name, value }) => ({
    type: "mrkdwn" as const,
    text: cut(`*${escapeText(name)}*\n${escapeText(value)}`, fieldLimit),
  }));
  return {
    text: cut(`${title}: ${body}`, textLimit),
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: "vedette_message", event_payload: { id: message.id } },
    blocks: [
      { type: "header", text: { type: "plain_text", text: cut(title, headerLimit), emoji: true } },
      ...(body === "" ? [] : [section(body)]),
      ...(fields.length === 0 ? [] : [{ type: "section" as const, fields }]),
      { type: "context", elements: [{ type: "mrkdwn", text: cut(message.id, textLimit) }] },
    ],
  };
}

function section(text: string) {
  return {
    type: "section" as const,
    text: { type: "mrkdwn" as const, text: cut(text, textLimit) },
  };
}

/** The three characters that mean something to Slack. */
function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}
