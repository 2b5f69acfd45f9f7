/** Calls at Restate's own ingress, once accepted durable: its paths, and why a call failed. */
import pRetry from "p-retry";
import { parseJsonText, readBody } from "./body.ts";
import { cleanWords } from "./log.ts";
import { requestRestate, requireHealth } from "./restate.ts";

/**
 * Returns the path at the ingress for the one that callers use: `/service/handler` or `/service/key/handler`, with `/send`
 * at its end for a call that nobody waits for. Restate has deprecated those as its own since 1.7.
 */
export function ingressPath(path: string): string {
  const target = path.replace(/\/send$/, "");
  return `/restate/${target === path ? "call" : "send"}${target}`;
}

/** `invocation`: the call ran and failed; `ingress`: Restate itself refused it. */
type ErrorSource = "ingress" | "invocation";

/** Returns undefined if the answer is no error, or not one of Restate. */
export function errorSourceOf(headers: Record<string, unknown>): ErrorSource | undefined {
  const source = headers["x-restate-error-source"];
  return source === "ingress" || source === "invocation" ? source : undefined;
}

/** A call that Restate, or the handler, answered with an error. `isFinal`: it would be refused again. */
export class CallRefusedError extends Error {
  readonly isFinal: boolean;

  constructor(path: string, { status, source, reason }: Refused) {
    super(`${describeRefusal(path, { status, source })}${reason === "" ? "" : `: ${reason}`}`);
    this.name = "CallRefusedError";
    this.isFinal = source === "invocation" && status < 500;
  }
}

type Refused = { status: number; source: ErrorSource | undefined; reason: string };

function describeRefusal(path: string, { status, source }: Omit<Refused, "reason">): string {
  if (source === "invocation") return `${path} failed inside the worker with ${status}`;
  // Also for a service of which the last registered version lacks the handler.
  if (status === 404 && source === "ingress") return `no worker has registered ${path} at Restate`;
  return `Restate's ingress answered ${status} to ${path}`;
}

const sendTimeoutMs = 5_000;
const answerTimeoutMs = 60_000;
const longestAnswerBytes = 16 * 1024 * 1024;

/** Retries until Restate accepts: while it starts, or while a caller waits for an answer. */
export const patience = {
  start: { retries: 8, minTimeout: 100, maxTimeout: 8_000 },
  // After an attempt that was not answered at all there is no other.
  caller: { retries: 3, minTimeout: 200, maxTimeout: 2_000, maxRetryTime: 4_000 },
} as const;

/** `path` without `/send`, as `ingressPath` takes it. */
type HandlerAt = { ingressUrl: string; path: string };

/** Retried when the response is lost, so the call may be made twice. */
export async function sendToRestate(
  { ingressUrl, path }: HandlerAt,
  body: object,
  retries: (typeof patience)[keyof typeof patience],
): Promise<void> {
  const at = { ingressUrl, path: `${path}/send` };
  await pRetry(() => post(at, body, sendTimeoutMs), retries);
}

/** Calls once, waits for the end and returns the answer's text. Throws when it is late; the call may still end then. */
export async function callRestate(
  at: HandlerAt,
  body: object,
  timeoutMs = answerTimeoutMs,
): Promise<string> {
  return post(at, body, timeoutMs);
}

async function post(at: HandlerAt, given: object, timeoutMs: number): Promise<string> {
  const { ingressUrl, path } = at;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const { statusCode, headers, body } = await requestRestate(
      `${ingressUrl}${ingressPath(path)}`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(given),
        signal,
      },
    );
    const text = (await readBody(body, longestAnswerBytes))?.toString() ?? "";
    if (statusCode < 300) return text;
    const refused = { status: statusCode, source: errorSourceOf(headers), reason: reasonOf(text) };
    throw new CallRefusedError(path, refused);
  } catch (error) {
    if (error instanceof CallRefusedError) throw error;
    throw await describeSilence(at, { error: error as Error, isLate: signal.aborted });
  }
}

/** The handler's message; empty for an answer without one. */
function reasonOf(text: string): string {
  const { message } = (parseJsonText(text) ?? {}) as { message?: unknown };
  return typeof message === "string" ? cleanWords(message, 500) : "";
}

/** Restate takes a call also when no worker answers, and is silent until one does. */
async function describeSilence(
  { ingressUrl, path }: HandlerAt,
  { error, isLate }: { error: Error; isLate: boolean },
): Promise<Error> {
  const mayWait = isLate && !path.endsWith("/send");
  const isAlive =
    mayWait &&
    (await requireHealth(ingressUrl).then(
      () => true,
      () => false,
    ));
  const message = isAlive
    ? `Restate has ${path}, but no worker has answered in time`
    : `Restate's ingress does not answer (${path})`;
  return new Error(message, { cause: error });
}
