/** Converts an answer of the incident service into the outcome of an event, and computes the backoff. */
import { z } from "zod";
import { backoffMs } from "#kernel/async.ts";
import { isPage, parseJsonText } from "#kernel/body.ts";
import { maskSecrets } from "#kernel/log.ts";
import { ClosedAddressError } from "#kernel/reach.ts";
import { readRetryAfter } from "#kernel/time.ts";

/** `cause` is shown to people: statuses, codes and ids, never a part of a token. */
export type Outcome =
  /** `remark`: what the receiver did not take of it, for people. */
  | { kind: "accepted"; remark?: string }
  /**
   * Retried later; `afterMs` only when the service sent a Retry-After. `isChannelFault`: the channel's
   * credentials or address are refused, which says nothing about the event. `isPaced`: nothing was sent,
   * since the destination has too much to take; it does not count as an attempt.
   */
  | {
      kind: "retry";
      cause: string;
      afterMs?: number;
      isTokenRefused?: true;
      isChannelFault?: true;
      isPaced?: true;
    }
  /** The service rejects this event; a retry does not help. */
  | { kind: "refused"; cause: string }
  /** The settings name no source to post it to, or its channel was removed (`cause`). */
  | { kind: "unconfigured"; cause?: string };

/** Why an event was not accepted; of an accepted one, what people should know of it. */
export function wordsOf(outcome: Outcome): string | null {
  if (outcome.kind === "accepted") return outcome.remark ?? null;
  return outcome.cause ?? null;
}

/** The words of receivers may quote what was sent, and are stored, logged and shown. */
export function maskOutcome(outcome: Outcome): Outcome {
  const words = wordsOf(outcome);
  const field = outcome.kind === "accepted" ? "remark" : "cause";
  return words === null ? outcome : { ...outcome, [field]: maskSecrets(words) };
}

/** True if the channel would refuse any event. */
export function isOfChannel(outcome: Extract<Outcome, { kind: "retry" }>): boolean {
  return outcome.isTokenRefused === true || outcome.isChannelFault === true;
}

/** Nothing was sent while the destination had too much to take. */
export function wasSent(outcome: Outcome): boolean {
  return outcome.kind !== "retry" || outcome.isPaced !== true;
}

export type Answer = { status: number; retryAfter: string | null; body: string };

/** Transient although 4xx: RFC 9110, section 15.5.9 (408), RFC 8470 (425), RFC 6585 (429). */
export const transient: ReadonlySet<number> = new Set([408, 425, 429]);

/** A proxy or a maintenance page sends these while the service is down: they say nothing about the event. */
const ofAnyServer = new Set([404, 405]);

/** The prefix of the cause of such an attempt; the metric that counts them searches for it. */
export const tokenRefused = "the source's token is refused";

/** A redirect is not followed, since the token would go with it: it is a refusal like any other status. */
export function gradeAnswer({ status, retryAfter, body }: Answer, nowMs: number): Outcome {
  const { words, retryAt, isError, isOwn } = readEnvelope(body);
  if (status >= 200 && status < 300) {
    if (!isError) return { kind: "accepted" };
    return { kind: "retry", cause: [`status ${status} with an error`, ...words].join(" ") };
  }
  const cause = [`status ${status}`, ...words].join(" ");
  // Says nothing about the event: with the right token it would be accepted.
  if (status === 401 || status === 403) {
    return { kind: "retry", cause: `${tokenRefused}: ${cause}`, isTokenRefused: true };
  }
  if (ofAnyServer.has(status) && !isOwn) {
    return { kind: "retry", cause: `${cause}, not the service's own` };
  }
  if (status < 500 && !transient.has(status)) return { kind: "refused", cause };
  const afterMs = readRetryAfter(retryAfter, nowMs) ?? readRetryAfter(retryAt, nowMs);
  return { kind: "retry", cause, ...(afterMs !== undefined && { afterMs }) };
}

/** A network error or a timeout: the event may have arrived all the same. It is sent again. */
export function gradeNetworkError(error: unknown): Outcome {
  if (error instanceof ClosedAddressError) {
    return { kind: "retry", cause: error.message, isChannelFault: true };
  }
  return { kind: "retry", cause: `not reached: ${nameOf(error)}` };
}

/** Only names and codes: a message could quote an address or a header. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  const { code } = (error.cause ?? error) as NodeJS.ErrnoException;
  return typeof code === "string" ? code : error.name;
}

const MaybeText = z.string().optional().catch(undefined);

/** The service's error body. A member of another shape, as a proxy may send it, counts as absent. */
const Envelope = z.object({
  type: MaybeText,
  request_id: MaybeText,
  errors: z
    .array(
      z.object({
        code: MaybeText,
        source: z.object({ field: MaybeText }).optional().catch(undefined),
      }),
    )
    .optional()
    .catch(undefined),
  rate_limit: z.object({ retry_after: MaybeText }).optional().catch(undefined),
});

type Content = {
  words: string[];
  retryAt: string | undefined;
  /** The body reports an error, whatever the status; or it is an HTML page, as proxies send them. */
  isError: boolean;
  /** It is JSON, as the service's own answers are. */
  isOwn: boolean;
};

function readEnvelope(body: string): Content {
  const json = parseJsonText(body);
  const { data } = Envelope.safeParse(json);
  const error = data?.errors?.[0];
  // Codes only: free text may quote what was sent.
  const isWord = (text: string | undefined) => text !== undefined && /^[\w.-]{1,80}$/.test(text);
  const named = [data?.type, error?.code, error?.source?.field].filter(isWord);
  const request = isWord(data?.request_id) ? [`(request ${data?.request_id})`] : [];
  return {
    words: [...new Set(named as string[]), ...request],
    retryAt: data?.rate_limit?.retry_after,
    isError: reportsError(json) || isPage(body),
    isOwn: typeof json === "object" && json !== null,
  };
}

/** Something else may answer in its place, with an error in a 2xx. The service sends `success` for an event it accepts. */
function reportsError(json: unknown): boolean {
  if (typeof json !== "object" || json === null) return false;
  const { status, error, errors, success } = json as Record<string, unknown>;
  const isErrorStatus = errorStatus.test(String(status)) || Number(status) >= 400;
  return isErrorStatus || success === false || hasContent(error) || hasContent(errors);
}

const errorStatus = /^(?:error|fail(?:ed|ure)?)$/i;

/** Some servers always send these members, and leave them empty when nothing went wrong. */
function hasContent(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return Boolean(value);
  return Object.keys(value).length > 0;
}

const backoff = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** A shorter maximum: somebody repairs the channel and waits for the first page to arrive. */
const forFault = { ...backoff, longestMs: 60_000 };
/** The upper bound for a Retry-After: somebody has to be paged. */
const maxRetryAfterMs = backoff.longestMs;

/** `isFault`: the channel refuses whatever it is sent. */
type Wait = { random: number; afterMs?: number; isFault?: boolean };

/**
 * The backoff after failed attempt number `attempt` (from 0): the service's Retry-After (`afterMs`, at
 * least 100 ms, and from the sixth attempt 1 s, 2 s, 4 s …), else 1 s, 2 s, 4 s … 5 min, or … 1 min while the
 * channel refuses everything. Plus a jitter of up to a tenth, by `random` from 0 to 1, so that not all checks
 * retry at the same moment.
 */
export function retryWaitMs(attempt: number, wait: Wait): number {
  const { random, afterMs, isFault } = wait;
  const baseMs =
    afterMs === undefined
      ? backoffMs(attempt, isFault === true ? forFault : backoff)
      : Math.min(
          Math.max(afterMs, attempt < 5 ? 100 : backoffMs(attempt - 5, backoff)),
          maxRetryAfterMs,
        );
  return Math.round(baseMs * (1 + random / 10));
}
