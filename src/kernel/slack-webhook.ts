/** One attempt to post to a Slack webhook, and what its outcome means. */
import {
  IncomingWebhook,
  IncomingWebhookHTTPError,
  IncomingWebhookRequestError,
  type IncomingWebhookSendArguments,
} from "@slack/webhook";
import { isPage, readBeginning } from "./body.ts";
import { fetch } from "./http.ts";
import { ClosedAddressError, type Reach } from "./reach.ts";
import { readRetryAfter } from "./retry-after.ts";

/** `cause` is for the log: a status or a network error's code, never a part of the URL. */
export type Delivery =
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
): Promise<Delivery> {
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
export function judgeNetworkError(error: unknown): Delivery {
  return { outcome: "retry", cause: describeFailure(error) };
}

export type Refusal = { status: number; body: string; retryAfter: string | null };

/** Interprets an unsuccessful answer (docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). */
export function judgeRefusal({ status, body, retryAfter }: Refusal, nowMs: number): Delivery {
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
