/** One attempt to deliver a message, what its outcome means, and how long to wait for the next. */

import {
  IncomingWebhook,
  IncomingWebhookHTTPError,
  IncomingWebhookRequestError,
  type IncomingWebhookSendArguments,
} from "@slack/webhook";
import { backoffMs } from "#kernel/backoff.ts";
import { isPage, readBeginning } from "#kernel/body.ts";
import { readRetryAfter } from "#kernel/retry-after.ts";

/** `cause` is for the log: a status or a network error's code, never a part of the URL. */
export type Delivery =
  | { outcome: "delivered" }
  /** Tried again later; `afterMs` only when the service said when. */
  | { outcome: "retry"; cause: string; afterMs?: number }
  /** The service will not take this message, however often it is sent. */
  | { outcome: "refused"; cause: string };

const attemptTimeoutMs = 5_000;

/** Posts once. Never throws, and never lets the URL, which is a secret, into its answer. */
export async function attemptDelivery(
  url: string,
  message: IncomingWebhookSendArguments,
): Promise<Delivery> {
  let retryAfter: string | null = null;
  const webhook = new IncomingWebhook(url, {
    timeout: attemptTimeoutMs,
    // The library's error does not carry the header, so it is caught on the way.
    fetch: async (input, init) => {
      // Not followed, and no network error either, as which the library would have it.
      const answer = await fetch(input, { ...init, redirect: "manual" });
      retryAfter = answer.headers.get("retry-after");
      return shorten(answer);
    },
  });
  try {
    const { text } = await webhook.send(message);
    // The service says "ok": a proxy or a login has answered in its place.
    if (isPage(text)) return { outcome: "retry", cause: "status 200 with a page" };
    return { outcome: "delivered" };
  } catch (error) {
    if (!(error instanceof IncomingWebhookHTTPError)) return judgeSilence(error);
    const { statusCode, body } = error;
    return judgeRefusal({ status: statusCode, body, retryAfter }, Date.now());
  }
}

/** Far more than the word or two that a chat service answers with. */
const maxAnswerBytes = 1_024;

/** The answer with the start of its body; of a success that breaks off what came before. */
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

/** No answer, or none in time: the message may have arrived all the same. It is sent again. */
export function judgeSilence(error: unknown): Delivery {
  return { outcome: "retry", cause: describeFailure(error) };
}

export type Refusal = { status: number; body: string; retryAfter: string | null };

/** What an answer other than success means (docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). */
export function judgeRefusal({ status, body, retryAfter }: Refusal, nowMs: number): Delivery {
  // Slack names its reason in one word; anything longer may quote what was sent to it.
  const reason = /^[a-z_]{1,40}$/.test(body) ? ` ${body}` : "";
  const advice = isRedirect(status) ? ": a redirect, which is not followed" : "";
  const cause = `status ${status}${reason}${advice}`;
  if (status === 429) {
    const afterMs = readRetryAfter(retryAfter, nowMs);
    return { outcome: "retry", cause, ...(afterMs !== undefined && { afterMs }) };
  }
  const isPassing = status >= 500 || status === 408;
  return { outcome: isPassing ? "retry" : "refused", cause };
}

/** Where it leads is not said: it may have the secret of the URL in it. */
function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** Only names and codes: a message could quote the URL. */
function describeFailure(error: unknown): string {
  const original = error instanceof IncomingWebhookRequestError ? error.original : error;
  if (!(original instanceof Error)) return "not reached";
  const { code } = (original.cause ?? {}) as NodeJS.ErrnoException;
  return `not reached: ${typeof code === "string" ? code : original.name}`;
}

const backoff = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** However long a service asks us to wait, it is asked again after this long. */
const longestAskedWaitMs = 60 * 60_000;

/**
 * How long to wait after failed attempt number `attempt` (from 0): 1 s, 2 s, 4 s … 5 min, or as told where that
 * is longer. A service that says "at once" a thousand times would otherwise be asked all day.
 */
export function waitBeforeMs(attempt: number, askedMs = 0): number {
  const ownMs = backoffMs(attempt, backoff);
  return Math.max(ownMs, Math.min(askedMs, longestAskedWaitMs));
}
