/** Calls the Restate ingress for a caller, and does not let go when the way there breaks. */
import { setTimeout as delay } from "node:timers/promises";
import { Agent, errors, request } from "undici";
import { ProblemError } from "#kernel/problem.ts";

type IngressCall = {
  path: string;
  body: unknown;
  /** The name under which the call is kept in history. */
  actor: string;
  /** With it a repeated call is attached to the first one; undefined for a call that only reads. */
  idempotencyKey: string | undefined;
  /** Aborted when the caller goes away. What was started goes on. */
  signal: AbortSignal;
};

export type IngressAnswer = { status: number; body: unknown; invocationId: string | undefined };

export type Ingress = {
  call: (call: IngressCall) => Promise<IngressAnswer>;
  close: () => Promise<void>;
};

export type IngressSettings = {
  url: string;
  /** How long one attempt waits for an answer before it attaches anew. */
  attemptMs?: number;
  /** How long Restate may be unreachable. */
  patienceMs?: number;
  /** How long a caller may wait in all: rollouts of large fleets take hours. */
  totalMs?: number;
};

const retryEveryMs = 250;

export function createIngress(settings: IngressSettings): Ingress {
  const { url, attemptMs = 60_000, patienceMs = 30_000, totalMs = 24 * 3_600_000 } = settings;
  const agent = new Agent({
    connect: { timeout: 5_000 },
    headersTimeout: attemptMs,
    bodyTimeout: attemptMs,
    connections: 256,
    pipelining: 1,
  });

  const call = async (wanted: IngressCall): Promise<IngressAnswer> => {
    const startedAt = Date.now();
    let reachedAt = startedAt;
    for (;;) {
      const attempt = await attemptCall(url, wanted, agent);
      if (attempt.outcome === "answered") return attempt.answer;
      if (attempt.outcome === "waiting") reachedAt = Date.now();
      else await delay(retryEveryMs);
      requireWithin(startedAt, totalMs, tooLong);
      requireWithin(reachedAt, patienceMs, unreachable);
    }
  };

  return { call, close: () => agent.destroy() };
}

type Attempt =
  | { outcome: "answered"; answer: IngressAnswer }
  /** Restate has the call and is at it. */
  | { outcome: "waiting" }
  /** The way to Restate broke, or was not there. */
  | { outcome: "broken" };

async function attemptCall(url: string, wanted: IngressCall, agent: Agent): Promise<Attempt> {
  const { idempotencyKey } = wanted;
  try {
    const answer = await request(`${url}${wanted.path}`, {
      dispatcher: agent,
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-vedette-actor": wanted.actor,
        ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      },
      body: JSON.stringify(wanted.body),
      signal: wanted.signal,
    });
    const text = await answer.body.text();
    const id = answer.headers["x-restate-id"];
    const invocationId = typeof id === "string" ? id : undefined;
    const body = readJson(text);
    return { outcome: "answered", answer: { status: answer.statusCode, body, invocationId } };
  } catch (error) {
    if (wanted.signal.aborted) throw error;
    const isWaiting = error instanceof errors.HeadersTimeoutError;
    return { outcome: isWaiting ? "waiting" : "broken" };
  }
}

function requireWithin(sinceMs: number, limitMs: number, refusal: () => ProblemError): void {
  if (Date.now() - sinceMs > limitMs) throw refusal();
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreachable(): ProblemError {
  const detail =
    "Restate cannot be reached. If the call was made before it went away, it goes on by itself: ask Status";
  return new ProblemError({ status: 503, code: "unavailable", detail });
}

function tooLong(): ProblemError {
  const detail = "the call is still at work and goes on by itself: ask Status for its progress";
  return new ProblemError({ status: 504, code: "timeout", detail });
}
