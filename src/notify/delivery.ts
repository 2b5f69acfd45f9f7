/** One attempt to deliver a message, and what its outcome means. */
import {
  IncomingWebhook,
  type IncomingWebhookHTTPError,
  type IncomingWebhookSendArguments,
} from "@slack/webhook";

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
      const answer = await fetch(input, init);
      retryAfter = answer.headers.get("retry-after");
      return answer;
    },
  });
  try {
    await webhook.send(message);
    return { outcome: "delivered" };
  } catch (error) {
    const { statusCode } = error as Partial<IncomingWebhookHTTPError>;
    return judgeFailure(statusCode, retryAfter, Date.now());
  }
}

/** What a failure means. Without a status the service was not reached, or did not answer in time. */
export function judgeFailure(
  status: number | undefined,
  retryAfter: string | null,
  nowMs: number,
): Delivery {
  if (status === undefined) return { outcome: "retry", cause: "not reached" };
  const cause = `status ${status}`;
  if (status === 429) return { outcome: "retry", cause, ...afterOf(retryAfter, nowMs) };
  return status >= 500 || status === 408
    ? { outcome: "retry", cause }
    : { outcome: "refused", cause };
}

/** `Retry-After` is seconds or a date (RFC 9110, section 10.2.3). */
function afterOf(retryAfter: string | null, nowMs: number): { afterMs?: number } {
  if (retryAfter === null) return {};
  const seconds = Number(retryAfter);
  const afterMs = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(retryAfter) - nowMs;
  return Number.isFinite(afterMs) ? { afterMs: Math.max(0, afterMs) } : {};
}

const firstBackoffMs = 1_000;
const lastBackoffMs = 5 * 60_000;

/** How long to wait before the next attempt: as told, or twice as long each time, 5 minutes at most. */
export function backoffMs(attempt: number, afterMs: number | undefined): number {
  return afterMs ?? Math.min(firstBackoffMs * 2 ** Math.min(attempt, 20), lastBackoffMs);
}
