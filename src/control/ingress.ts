/** Calls the Restate ingress for a caller, and retries when the connection to it breaks. */
import { setTimeout as delay } from "node:timers/promises";
import { signActor, targetOfPath } from "#kernel/actor.ts";
import { parseJsonText, readBody } from "#kernel/body.ts";
import { createHangWatch, type HangWatch, HungError, isHung } from "#kernel/hang-watch.ts";
import { Agent, errors, request } from "#kernel/http.ts";
import { errorSourceOf, ingressPath } from "#kernel/ingress.ts";
import { ProblemError } from "#kernel/problem.ts";
import { reachAddress } from "#kernel/restate.ts";
import type { CiRun } from "#kernel/roles.ts";
import { headersOf, type Trace } from "#kernel/tracing.ts";
import { createCallLimit } from "./call-limit.ts";

type IngressCall = {
  path: string;
  body: unknown;
  /** The caller's name, as history records it; undefined: nobody's. */
  actor: string | undefined;
  /** The caller whose open calls are counted. */
  reader: string;
  accounts?: readonly string[] | undefined;
  ciRun?: CiRun | undefined;
  /** The caller's, by which the worker continues its trace. */
  trace?: Trace | undefined;
  /** Attaches a repeated call to the first one; undefined for a call that only reads. */
  idempotencyKey: string | undefined;
  /** True if the answer may take hours. */
  blocks: boolean;
  /** Aborted when the caller disconnects. The work that the call started continues. */
  signal: AbortSignal;
};

export type IngressAnswer = {
  status: number;
  body: unknown;
  invocationId: string | undefined;
  /** Of Restate's header; absent for what is no error, or from a proxy that drops headers. */
  source?: ReturnType<typeof errorSourceOf>;
};

/** Returns whether Restate or the handler refused the call: its body says so as well. */
export function sourceOf({ source, body }: Pick<IngressAnswer, "source" | "body">) {
  return source ?? ((body ?? {}) as Pick<IngressAnswer, "source">).source;
}

export type Ingress = {
  call: (call: IngressCall) => Promise<IngressAnswer>;
  close: () => Promise<void>;
};

export type IngressLimits = {
  /** One attempt waits so long for an answer before it attaches again. */
  attemptMs: number;
  /** Timeout of a call that does not block; Restate may be unreachable for as long before it takes a call. */
  timeoutMs: number;
  /** A caller may be blocked for so long in total: rollouts of large fleets take hours. */
  totalMs: number;
};

const defaults: IngressLimits = { attemptMs: 60_000, timeoutMs: 30_000, totalMs: 24 * 3_600_000 };

const retryEveryMs = 250;

type IngressSettings = Partial<IngressLimits> & {
  url: string;
  /** Shared with the worker: callers' names are signed with it. */
  actorKey: Uint8Array;
  /** Asks the database, for which handlers wait, for a sign of life; fails with a `HungError` when it hangs. */
  askDatabase?: (() => Promise<unknown>) | undefined;
};

export function createIngress(settings: IngressSettings): Ingress {
  const limits = { ...defaults, ...settings };
  const { url, socketPath } = reachAddress(settings.url);
  // No limit on connections: a Cancel must not wait for a connection that a blocked caller holds.
  const agent = new Agent({
    connect: { timeout: 5_000, ...(socketPath !== undefined && { socketPath }) },
    pipelining: 1,
  });
  const watch = createHangWatch({
    server: "Restate",
    slowAfterMs: 3_000,
    askForSign: (signal) =>
      request(`${url}/restate/health`, { dispatcher: agent, signal }).then(({ body }) =>
        body.dump(),
      ),
  });

  /** A blocking call that began while Restate lived goes on, as through an upgrade of Restate. */
  const mayWait = (blocks: boolean, startedMs: number) => blocks && watch.isAliveSince(startedMs);
  const transport = { url, actorKey: settings.actorKey, agent, limits, watch };
  const callRestate = async (wanted: IngressCall): Promise<IngressAnswer> => {
    const startedMs = performance.now();
    const { blocks, idempotencyKey } = wanted;
    const isRead = idempotencyKey === undefined;
    let isTaken = false;
    for (;;) {
      const attempt = await attemptCall(wanted, transport);
      if (attempt.outcome === "answered") return attempt.answer;
      isTaken ||= attempt.outcome !== "absent";
      const afterMs = performance.now() - startedMs;
      const isHung = attempt.isHung === true && !mayWait(blocks, startedMs);
      const isSilent = attempt.outcome === "waiting";
      const options = { afterMs, isTaken, isSilent, isHung, isRead, blocks };
      const refusal = refusalAfter(options, limits);
      if (refusal !== undefined) throw refusal;
      if (attempt.outcome !== "waiting") await delay(retryEveryMs);
    }
  };

  const limitCalls = createCallLimit(defaults.timeoutMs);
  const callOnce = async (wanted: IngressCall): Promise<IngressAnswer> => {
    const over = new AbortController();
    const signal = AbortSignal.any([wanted.signal, over.signal]);
    const hang = failOnceHung({ ...wanted, signal }, settings.askDatabase);
    return Promise.race([callRestate({ ...wanted, signal }), hang]).finally(() => over.abort());
  };

  const call = (wanted: IngressCall) => {
    const isRead = wanted.idempotencyKey === undefined;
    return limitCalls({ ...wanted, isRead }, () => callOnce(wanted));
  };
  return { call, close: () => agent.destroy().finally(watch.close) };
}

/** The database is asked at this age of a call, and again after as long. */
const askDatabaseAfterMs = 500;
const ownRefusalWithinMs = 500;

/** Ends only with the 503 when the database hangs. A blocking call that began while it lived goes on, as a rollout does. */
async function failOnceHung(
  { signal, idempotencyKey, blocks }: IngressCall,
  askDatabase: IngressSettings["askDatabase"] = () => Promise.resolve(),
): Promise<never> {
  do {
    await delay(askDatabaseAfterMs, undefined, { signal });
    if (!(await askDatabase().then(() => false, isHung))) continue;
    // Handlers that do not wait for it refuse the call themselves.
    await delay(ownRefusalWithinMs, undefined, { signal });
    throw databaseHung(idempotencyKey === undefined);
  } while (!blocks);
  return new Promise(() => {});
}

type WaitOptions = {
  afterMs: number;
  /** True if Restate has, or may have, the call. */
  isTaken: boolean;
  blocks: boolean;
  /** True if Restate lives and waits for the worker. */
  isSilent?: boolean;
  /** True while Restate hangs. */
  isHung?: boolean;
  isRead?: boolean;
};

/** undefined: try again. A blocking call that Restate may have is retried for as long as a rollout may take. */
export function refusalAfter(
  { afterMs, isTaken, blocks, isSilent, isHung, isRead }: WaitOptions,
  { timeoutMs, totalMs }: IngressLimits,
): ProblemError | undefined {
  if (isHung) return isTaken ? hung(isRead === true) : unreachable();
  if (!isTaken) return afterMs >= timeoutMs ? unreachable() : undefined;
  return afterMs >= (blocks ? totalMs : timeoutMs) ? tooLong(isSilent === true) : undefined;
}

type Attempt =
  | { outcome: "answered"; answer: IngressAnswer; isHung?: false }
  /** Restate has the call and is executing it. */
  | { outcome: "waiting"; isHung?: false }
  /** The connection broke, or Restate could not accept the call now or hangs: it may have the call. */
  | { outcome: "broken"; isHung?: boolean }
  /** There was no connection, or Restate was known to hang: it does not have the call. */
  | { outcome: "absent"; isHung?: boolean };

type Transport = {
  url: string;
  actorKey: Uint8Array;
  agent: Agent;
  limits: IngressLimits;
  watch: HangWatch;
};

async function attemptCall(wanted: IngressCall, transport: Transport): Promise<Attempt> {
  const sent = new AbortController();
  let isSent = false;
  const send = () => {
    isSent = true;
    const signal = AbortSignal.any([wanted.signal, sent.signal]);
    return post({ ...wanted, signal }, transport);
  };
  try {
    return readAttempt(await transport.watch.run(send));
  } catch (error) {
    if (wanted.signal.aborted || error instanceof ProblemError) throw error;
    if (error instanceof errors.HeadersTimeoutError) return { outcome: "waiting" };
    sent.abort();
    const isAbsent = !isSent || isWithoutConnection(error);
    return { outcome: isAbsent ? "absent" : "broken", isHung: error instanceof HungError };
  }
}

async function post(wanted: IngressCall, transport: Transport): Promise<IngressAnswer> {
  const { url, agent, limits, actorKey } = transport;
  const { idempotencyKey, blocks, accounts, ciRun, trace } = wanted;
  const body = JSON.stringify(wanted.body);
  const target = targetOfPath(wanted.path) ?? "";
  const timeoutMs = blocks ? limits.attemptMs : Math.min(limits.attemptMs, limits.timeoutMs);
  const answer = await request(`${url}${ingressPath(wanted.path)}`, {
    dispatcher: agent,
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...signActor(wanted.actor, { target, body, accounts, ciRun }, actorKey),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      ...(trace !== undefined && headersOf(trace)),
    },
    body,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    signal: wanted.signal,
  });
  const id = answer.headers["x-restate-id"];
  return {
    status: answer.statusCode,
    body: parseJsonText(await readAnswer(answer.body)),
    invocationId: typeof id === "string" ? id : undefined,
    source: errorSourceOf(answer.headers),
  };
}

/** A 5xx of Restate itself, for example while it starts, is not an answer of the handler. */
function readAttempt(answer: IngressAnswer): Attempt {
  if (answer.status >= 500 && sourceOf(answer) === "ingress") return { outcome: "broken" };
  return { outcome: "answered", answer };
}

const withoutConnection = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  // The socket does not exist: Restate has not started yet.
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function isWithoutConnection(error: unknown): boolean {
  return withoutConnection.has((error as { code?: string }).code ?? "");
}

/** More than any handler returns. A longer answer is an error and not retried: it would be as long again. */
const answerLimitBytes = 64 * 1024 * 1024;

async function readAnswer(body: AsyncIterable<Uint8Array>): Promise<string> {
  const read = await readBody(body, answerLimitBytes);
  if (read !== undefined) return read.toString("utf8");
  const detail = "the call was made, but its answer is larger than 64 MiB and cannot be forwarded";
  throw new ProblemError({ status: 502, code: "bad_gateway", detail });
}

const unavailable = (detail: string) =>
  new ProblemError({ status: 503, code: "unavailable", detail });

const unreachable = () =>
  unavailable("Restate cannot be reached; nothing was started. Try again in a moment");

const thenRepeat = "and repeat the call with the same idempotency-key if it has not";

function hung(isRead: boolean): ProblemError {
  if (isRead) return unavailable("Restate does not answer: try again in a moment");
  const doubt = "Restate does not answer, so that it is not known whether it has taken the call";
  return unavailable(`${doubt}: once it answers call Status to see, ${thenRepeat}`);
}

function databaseHung(isRead: boolean): ProblemError {
  if (isRead) return unavailable("the database does not answer: try again in a moment");
  const kept =
    "the database does not answer. Once it does, Restate carries out the call if it has it";
  return unavailable(`${kept}: call Status or List to see, ${thenRepeat}`);
}

function tooLong(isSilent: boolean): ProblemError {
  const doubt = isSilent
    ? "Restate has taken the call, but no worker has answered in time: see that one runs. Its work continues then"
    : "there was no answer in time. If Restate has accepted the call, its work continues";
  const detail = `${doubt}: call Status to see, ${thenRepeat}`;
  return new ProblemError({ status: 504, code: "timeout", detail });
}
