/** What an answer of the incident service means for an event, and how long to wait for the next attempt. */

import { z } from "zod";
import { backoffMs } from "#kernel/backoff.ts";
import { isPage } from "#kernel/body.ts";
import { readRetryAfter } from "#kernel/retry-after.ts";

/** `cause` is for people: statuses, codes and ids, never a part of a token. */
export type Outcome =
  | { kind: "accepted" }
  /** Tried again later; `afterMs` only when the service said when. */
  | { kind: "retry"; cause: string; afterMs?: number; isTokenRefused?: true }
  /** The service will not take this event, however often it is sent. */
  | { kind: "refused"; cause: string }
  /** The settings name nowhere to post it. */
  | { kind: "unconfigured" };

export type Answer = {
  status: number;
  retryAfter: string | null;
  /** Its beginning. */
  body: string;
};

/** Passing trouble although the request is said to be at fault (RFC 9110, sections 15.5.9 and 15.5.14). */
const passing = new Set([408, 425, 429]);

/** What a proxy says, or a page put up meanwhile, while the service is away: of the event it says nothing. */
const ofAnyServer = new Set([404, 405]);

/** How the causes of such attempts begin; those that count them look for these words. */
export const tokenRefused = "the source's token is refused";

/** A redirect is not followed, since the token would go with it: it is refused like any other status. */
export function judgeAnswer({ status, retryAfter, body }: Answer, nowMs: number): Outcome {
  const { words, retryAt, isFault, isOwn } = readEnvelope(body);
  if (status >= 200 && status < 300) {
    if (!isFault) return { kind: "accepted" };
    return { kind: "retry", cause: [`status ${status} with an error`, ...words].join(" ") };
  }
  const cause = [`status ${status}`, ...words].join(" ");
  // Says nothing about the event: with the right token it is taken.
  if (status === 401 || status === 403) {
    return { kind: "retry", cause: `${tokenRefused}: ${cause}`, isTokenRefused: true };
  }
  if (ofAnyServer.has(status) && !isOwn) {
    return { kind: "retry", cause: `${cause}, not the service's own` };
  }
  if (status < 500 && !passing.has(status)) return { kind: "refused", cause };
  const afterMs = readRetryAfter(retryAfter, nowMs) ?? readRetryAfter(retryAt, nowMs);
  return { kind: "retry", cause, ...(afterMs !== undefined && { afterMs }) };
}

/** No answer, or none in time: the event may have arrived all the same. It is sent again. */
export function judgeSilence(error: unknown): Outcome {
  return { kind: "retry", cause: `not reached: ${nameOf(error)}` };
}

/** Only names and codes: a message could quote an address or a header. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  const { code } = (error.cause ?? error) as NodeJS.ErrnoException;
  return typeof code === "string" ? code : error.name;
}

const MaybeText = z.string().optional().catch(undefined);

/**
 * The service's errors name their codes, the field and the request (incident-service reference, "Errors").
 * A member of another shape, as a proxy may have it, hides no other.
 */
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

type Said = {
  words: string[];
  retryAt: string | undefined;
  /** It says itself that it is an error, whatever its status; or it is a page, as proxies have them for people. */
  isFault: boolean;
  /** It has the shape of what the service says. */
  isOwn: boolean;
};

function readEnvelope(body: string): Said {
  const said = parseJson(body);
  const { data } = Envelope.safeParse(said);
  const error = data?.errors?.[0];
  // Words of their alphabet only: free text may quote what was sent.
  const isWord = (text: string | undefined) => text !== undefined && /^[\w.-]{1,80}$/.test(text);
  const named = [data?.type, error?.code, error?.source?.field].filter(isWord);
  const request = isWord(data?.request_id) ? [`(request ${data?.request_id})`] : [];
  return {
    words: [...new Set(named as string[]), ...request],
    retryAt: data?.rate_limit?.retry_after,
    isFault: saysFault(said) || isPage(body),
    isOwn: typeof said === "object" && said !== null,
  };
}

/** Whatever answers in the service's place: of an event that was taken the service says `success`. */
function saysFault(said: unknown): boolean {
  if (typeof said !== "object" || said === null) return false;
  const { status, error, errors, success } = said as Record<string, unknown>;
  const isFaulty = faulty.test(String(status)) || Number(status) >= 400;
  return isFaulty || success === false || hasContent(error) || hasContent(errors);
}

const faulty = /^(?:error|fail(?:ed|ure)?)$/i;

/** Members that are there in any case are empty where nothing went wrong. */
function hasContent(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return Boolean(value);
  return Object.keys(value).length > 0;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const backoff = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** A token is put right by people, who wait for the first page that arrives. */
const forToken = { ...backoff, longestMs: 60_000 };
/** However long the service asks us to wait, it is asked again after this long: somebody is to be paged. */
const longestAskedWaitMs = backoff.longestMs;

type Wait = { random: number; afterMs?: number; isTokenRefused?: true };

/**
 * How long to wait after failed attempt number `attempt` (from 0): as told, else 1 s, 2 s, 4 s … 5 min,
 * or … 1 min for a token that is refused.
 * Up to a tenth more, by `random` from 0 to 1, so that not all checks come back in the same moment.
 */
export function retryWaitMs(attempt: number, wait: Wait): number {
  const { random, afterMs, isTokenRefused } = wait;
  const baseMs =
    afterMs === undefined
      ? backoffMs(attempt, isTokenRefused === true ? forToken : backoff)
      : Math.min(Math.max(afterMs, 100), longestAskedWaitMs);
  return Math.round(baseMs * (1 + random / 10));
}
