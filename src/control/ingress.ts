/** Calls the Restate ingress for a caller, and does not let go when the way there breaks. */
import { setTimeout as delay } from "node:timers/promises";
import { Agent, errors, request } from "undici";
import { readBody } from "#kernel/body.ts";
import { ProblemError } from "#kernel/problem.ts";
import { reachAddress } from "#kernel/restate-address.ts";
import { signActor, targetOfPath } from "#kernel/signed-actor.ts";

type IngressCall = {
  path: string;
  body: unknown;
  /** The name under which the call is kept in history. */
  actor: string;
  /** With it a repeated call is attached to the first one; undefined for a call that only reads. */
  idempotencyKey: string | undefined;
  /** Whether the answer may take hours. */
  blocks: boolean;
  /** Aborted when the caller goes away. What was started goes on. */
  signal: AbortSignal;
};

export type IngressAnswer = { status: number; body: unknown; invocationId: string | undefined };

export type Ingress = {
  call: (call: IngressCall) => Promise<IngressAnswer>;
  close: () => Promise<void>;
};

export type IngressLimits = {
  /** How long one attempt waits for an answer before it attaches anew. */
  attemptMs: number;
  /** How long a call that does not block may take, and how long Restate may be out of reach at first. */
  patienceMs: number;
  /** How long a caller may be blocked in all: rollouts of large fleets take hours. */
  totalMs: number;
};

const defaults: IngressLimits = {
  attemptMs: 60_000,
  patienceMs: 30_000,
  totalMs: 24 * 3_600_000,
};

const retryEveryMs = 250;

type IngressSettings = Partial<IngressLimits> & {
  url: string;
  /** Shared with the worker: callers' names are signed with it. */
  actorKey: Uint8Array;
};

export function createIngress(settings: IngressSettings): Ingress {
  const limits = { ...defaults, ...settings };
  const { url, socketPath } = reachAddress(settings.url);
  // No bound on connections: callers that block must not keep a Cancel waiting for one.
  const agent = new Agent({
    connect: { timeout: 5_000, ...(socketPath !== undefined && { socketPath }) },
    pipelining: 1,
  });

  const call = async (wanted: IngressCall): Promise<IngressAnswer> => {
    const startedMs = performance.now();
    let isTaken = false;
    for (;;) {
      const attempt = await attemptCall(wanted, {
        url,
        actorKey: settings.actorKey,
        agent,
        limits,
      });
      if (attempt.outcome === "answered") return attempt.answer;
      isTaken ||= attempt.outcome !== "absent";
      const afterMs = performance.now() - startedMs;
      const refusal = giveUp({ afterMs, isTaken, blocks: wanted.blocks }, limits);
      if (refusal !== undefined) throw refusal;
      if (attempt.outcome !== "waiting") await delay(retryEveryMs);
    }
  };

  return { call, close: () => agent.destroy() };
}

type WaitOptions = {
  afterMs: number;
  /** Whether Restate has, or may have, the call. */
  isTaken: boolean;
  blocks: boolean;
};

/**
 * Whether to stop trying, and what the caller is told. A blocking call that Restate may have is
 * followed as long as a rollout may take: Restate can be away for minutes while it is upgraded.
 */
export function giveUp(
  { afterMs, isTaken, blocks }: WaitOptions,
  { patienceMs, totalMs }: IngressLimits,
): ProblemError | undefined {
  if (!isTaken) return afterMs >= patienceMs ? unreachable() : undefined;
  return afterMs >= (blocks ? totalMs : patienceMs) ? tooLong() : undefined;
}

type Attempt =
  | { outcome: "answered"; answer: IngressAnswer }
  /** Restate has the call and is at it. */
  | { outcome: "waiting" }
  /** The connection broke, or Restate itself could not take the call now: it may have it. */
  | { outcome: "broken" }
  /** There was no connection: Restate has nothing. */
  | { outcome: "absent" };

type Way = { url: string; actorKey: Uint8Array; agent: Agent; limits: IngressLimits };

async function attemptCall(wanted: IngressCall, way: Way): Promise<Attempt> {
  try {
    return readAttempt(await post(wanted, way));
  } catch (error) {
    if (wanted.signal.aborted || error instanceof ProblemError) throw error;
    if (error instanceof errors.HeadersTimeoutError) return { outcome: "waiting" };
    return { outcome: isWithoutConnection(error) ? "absent" : "broken" };
  }
}

async function post(wanted: IngressCall, way: Way): Promise<IngressAnswer> {
  const { url, agent, limits } = way;
  const { idempotencyKey, blocks } = wanted;
  const body = JSON.stringify(wanted.body);
  const target = targetOfPath(wanted.path) ?? "";
  const timeoutMs = blocks ? limits.attemptMs : Math.min(limits.attemptMs, limits.patienceMs);
  const answer = await request(`${url}${wanted.path}`, {
    dispatcher: agent,
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...signActor(wanted.actor, { target, body }, way.actorKey),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    },
    body,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    signal: wanted.signal,
  });
  const id = answer.headers["x-restate-id"];
  return {
    status: answer.statusCode,
    body: readJson(await readAnswer(answer.body)),
    invocationId: typeof id === "string" ? id : undefined,
  };
}

/** Restate's own 5xx, as while it starts, is no answer of the handler. */
function readAttempt(answer: IngressAnswer): Attempt {
  const { source } = (answer.body ?? {}) as { source?: string };
  if (answer.status >= 500 && source === "ingress") return { outcome: "broken" };
  return { outcome: "answered", answer };
}

const withoutConnection = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  // There is no such socket: Restate has not started yet.
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function isWithoutConnection(error: unknown): boolean {
  return withoutConnection.has((error as { code?: string }).code ?? "");
}

/** More than any handler answers: asked again, one that is longer would be no shorter. */
const answerLimitBytes = 64 * 1024 * 1024;

async function readAnswer(body: AsyncIterable<Uint8Array>): Promise<string> {
  const read = await readBody(body, answerLimitBytes);
  if (read !== undefined) return read.toString("utf8");
  const detail = "the call was made, but its answer is larger than 64 MiB and cannot be passed on";
  throw new ProblemError({ status: 502, code: "bad_gateway", detail });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreachable(): ProblemError {
  const detail = "Restate cannot be reached; nothing was started. Try again in a moment";
  return new ProblemError({ status: 503, code: "unavailable", detail });
}

function tooLong(): ProblemError {
  const detail =
    "there was no answer in time. If Restate has taken the call it goes on by itself: ask Status, and " +
    "call again with the same idempotency-key if it has not";
  return new ProblemError({ status: 504, code: "timeout", detail });
}
