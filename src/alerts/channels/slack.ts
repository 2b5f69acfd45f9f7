/** Slack's incoming webhook: the message, and what an answer means. */
import {
  IncomingWebhook,
  IncomingWebhookHTTPError,
  IncomingWebhookRequestError,
  type IncomingWebhookSendArguments,
} from "@slack/webhook";
import type { Outcome } from "#alerts/outcome.ts";
import { isPage, readBeginning } from "#kernel/body.ts";
import { fetch } from "#kernel/http.ts";
import { ClosedAddressError, type Reach } from "#kernel/reach.ts";
import { cut, escapeText } from "#kernel/text.ts";
import { readRetryAfter } from "#kernel/time.ts";
import type { ChannelMessage, NoticeMessage, Send } from "./message.ts";
import { channelFault } from "./secrets.ts";
import { factsOf, headline, isFailure, linksOf, markOf } from "./words.ts";

// One attempt to post to a Slack webhook, and what its outcome means.

/** `cause` is for the log: a status or a network error's code, never a part of the URL. */
type SlackAnswer =
  | { outcome: "delivered" }
  /** Retried later; `afterMs` only when the service sent a Retry-After. */
  | { outcome: "retry"; cause: string; afterMs?: number }
  /** The service rejects this message, or the webhook; a retry does not help. */
  | { outcome: "refused"; cause: string; status: number };

/** Posts once. Throws only a `ClosedAddressError`; the result never contains the URL, which is a secret. */
export async function postToSlack(
  url: string,
  message: IncomingWebhookSendArguments,
  { timeoutMs, reach }: { timeoutMs: number; reach?: Reach },
): Promise<SlackAnswer> {
  let retryAfter: string | null = null;
  const webhook = new IncomingWebhook(url, {
    timeout: timeoutMs,
    // The library's error does not have the header, so it is read here.
    fetch: async (input, init) => {
      // A redirect is not followed. By default the library would report it as a network error.
      const options = { ...init, body: String(init?.body), redirect: "manual" as const };
      const answer = await fetch(input, { ...options, ...(reach && { dispatcher: reach.agent }) });
      retryAfter = answer.headers.get("retry-after");
      return shorten(answer);
    },
  });
  try {
    const { text } = await webhook.send(message);
    // The service itself answers "ok": this page is from a proxy or a login.
    if (isPage(text)) return { outcome: "retry", cause: "status 200 with a page" };
    return { outcome: "delivered" };
  } catch (error) {
    const { cause } = (error as IncomingWebhookRequestError).original ?? {};
    if (cause instanceof ClosedAddressError) throw cause;
    if (!(error instanceof IncomingWebhookHTTPError)) return judgeNetworkError(error);
    const { statusCode, body } = error;
    return judgeRefusal({ status: statusCode, body, retryAfter }, Date.now());
  }
}

/** A chat service answers with a word or two. */
const maxAnswerBytes = 1_024;

/** The response with the start of its body; a successful one that breaks off keeps what arrived. */
async function shorten({ ok, status, body }: Response): Promise<Response> {
  if (body === null) return new Response(null, { status });
  const start = ok ? await readBeginning(body, maxAnswerBytes) : await readStart(body);
  return new Response(start, { status });
}

async function readStart(body: ReadableStream<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= maxAnswerBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxAnswerBytes);
}

/** A network error or a timeout: the message may have arrived all the same. It is sent again. */
export function judgeNetworkError(error: unknown): SlackAnswer {
  return { outcome: "retry", cause: describeFailure(error) };
}

type Refusal = { status: number; body: string; retryAfter: string | null };

/** Interprets an unsuccessful answer (docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). */
export function judgeRefusal({ status, body, retryAfter }: Refusal, nowMs: number): SlackAnswer {
  // Slack gives the reason in one word; anything longer may quote the request.
  const reason = /^[a-z_]{1,40}$/.test(body) ? ` ${body}` : "";
  const advice = isRedirect(status) ? ": a redirect, which is not followed" : "";
  const cause = `status ${status}${reason}${advice}`;
  if (status === 429) {
    const afterMs = readRetryAfter(retryAfter, nowMs);
    return { outcome: "retry", cause, ...(afterMs !== undefined && { afterMs }) };
  }
  const isTransient = status >= 500 || status === 408;
  return isTransient ? { outcome: "retry", cause } : { outcome: "refused", cause, status };
}

/** The target of the redirect is not reported: it may contain the secret of the URL. */
function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** Describes a failure by names and codes only: a message could quote the URL. */
function describeFailure(error: unknown): string {
  const original = error instanceof IncomingWebhookRequestError ? error.original : error;
  if (!(original instanceof Error)) return "not reached";
  const { code } = (original.cause ?? {}) as NodeJS.ErrnoException;
  return `not reached: ${typeof code === "string" ? code : original.name}`;
}

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

/** Phones show the start of `text`, desktops that of the first block: both are the headline. Markdown is escaped. */
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
      { type: "section", text: { type: "plain_text", text: cut(title, textLimit), emoji: true } },
      { type: "section", text: { ...words, text: cut(details.join("\n"), textLimit) } },
      {
        type: "context",
        elements: [{ type: "plain_text", text: cut(message.eventId, textLimit), emoji: false }],
      },
      ...openButtons(message),
    ],
  };
}

/** `text` is for notifications. The notice's id is in the last block and the metadata: a repetition has the same. */
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
