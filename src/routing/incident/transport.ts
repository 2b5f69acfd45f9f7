/** One request to the incident service: timeout, rate limit, and the meaning of its answer. */
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { parseJson, readBody, withoutSecret } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import { cleanWords } from "#kernel/log.ts";
import { listOf } from "#kernel/setting.ts";
import { readRetryAfter } from "#kernel/time.ts";

type Method = "GET" | "POST" | "PUT" | "DELETE";

export type Call = { method: Method; path: string; body?: object };

export type Answer = { status: number; retryAfter: string | undefined; body: unknown };

/** Throws when there is no answer. */
export type Send = (call: Call) => Promise<Answer>;

/** `reason` is for people, and never contains any part of the key. */
export type Reply =
  | { kind: "done"; body: unknown }
  | { kind: "absent"; reason: string }
  /** The service refuses the request. */
  | { kind: "refused"; status: number; reason: string }
  /** The call did nothing because of its rate limit: retry later. */
  | { kind: "later"; reason: string; afterMs?: number }
  /** The outcome of the call is unknown. */
  | { kind: "lost"; reason: string };

const timeoutMs = 15_000;

/** The service allows 20 calls a second: with this spacing it never refuses with 429. */
const spacingMs = 50;

/** Generous: a route is a few KB, and a page of a list has at most 50 short items. */
const longestAnswerBytes = 10 * 1024 * 1024;

/** `url` without a slash at its end. */
export function createSend(service: { url: string; apiKey: string }): Send {
  let nextAtMs = 0;
  return async ({ method, path, body }) => {
    // Monotonic: if a wall clock were set back, the next call would wait for that long.
    const nowMs = performance.now();
    const atMs = Math.max(nowMs, nextAtMs);
    nextAtMs = atMs + spacingMs;
    if (atMs > nowMs) await delay(atMs - nowMs);
    const answer = await request(`${service.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${service.apiKey}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const retryAfter = [answer.headers["retry-after"]].flat()[0];
    const json = await readJson(answer.body, service.apiKey);
    return { status: answer.statusCode, retryAfter, body: json };
  };
}

/** Sends nothing and refuses every call, for a plan that is for another service. */
export function refuseAll(message: string): Send {
  return async () => ({ status: 421, retryAfter: undefined, body: { errors: [{ message }] } });
}

/** Returns a `send` for readers: it throws for anything but GET before it is sent. */
export function readOnly(send: Send): Send {
  return async (call) => {
    if (call.method !== "GET") throw new Error(`${call.method} by a reader`);
    return send(call);
  };
}

async function readJson(body: AsyncIterable<Buffer>, apiKey: string): Promise<unknown> {
  const whole = await readBody(body, longestAnswerBytes);
  if (whole === undefined) throw new Error("the answer is too long");
  return parseJson(withoutSecret(whole, apiKey));
}

/** Sends one request, without retries. */
export async function callOnce(send: Send, call: Call): Promise<Reply> {
  try {
    return interpret(await send(call), Date.now());
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    // Only name and code: the error's message could quote the request.
    return { kind: "lost", reason: `the incident service did not answer (${code ?? name})` };
  }
}

function interpret({ status, retryAfter, body }: Answer, nowMs: number): Reply {
  if (status < 300) return { kind: "done", body };
  const reason = describeRefusal(status, body);
  // A 404 without JSON comes from a proxy on the way, and says nothing about the route.
  if (status === 404) return { kind: body === undefined ? "lost" : "absent", reason };
  if (status === 429) {
    const afterMs = readRetryAfter(retryAfter, nowMs);
    return { kind: "later", reason, ...(afterMs !== undefined && { afterMs }) };
  }
  if (status >= 500 || status === 408) return { kind: "lost", reason };
  return { kind: "refused", status, reason };
}

const Envelope = z.object({
  request_id: z.string().max(100).optional(),
  errors: listOf(
    z.object({ message: z.string(), source: z.object({ field: z.string().optional() }).nullish() }),
    1_000,
  ).default([]),
});

const advice: Record<number, string> = {
  401: "incident.api_key is not valid",
  403: "incident.api_key may not do this: it needs the scopes to view data and to manage on-call resources",
};

function describeRefusal(status: number, body: unknown): string {
  const { data } = Envelope.safeParse(body);
  const faults = (data?.errors ?? []).map(({ message, source }) => {
    return source?.field === undefined ? message : `${source.field}: ${message}`;
  });
  const why = advice[status] ?? cleanWords(faults.join("; "), 500);
  const request =
    data?.request_id === undefined ? "" : `request ${cleanWords(data.request_id, 100)}`;
  const details = [why, request].filter((text) => text !== "").join(", ");
  return `the incident service answered ${status}${details === "" ? "" : ` (${details})`}`;
}
