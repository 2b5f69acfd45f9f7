/** Asks control, and reads its answer within limits: the address may be that of any server. */
import type { Dispatcher } from "undici";
import { parseJson, readBody } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import { ProblemError } from "#kernel/problem.ts";
import { headersOf, readTrace } from "#kernel/tracing.ts";

type Body = Dispatcher.ResponseData["body"];

export type AnswerLimits = {
  /** Timeout of the whole body, from its first byte. */
  withinMs: number;
  bytes: number;
};

const mib = 1024 * 1024;

/** A list of checks with their results may be long; a fleet is read in pages. */
const answerLimits: AnswerLimits = { withinMs: 60_000, bytes: 64 * mib };

/** The answer is not from Vedette; retrying does not help. */
export class OversizeError extends Error {}

/** The program did not answer; a retry may succeed. */
export class ConnectionError extends Error {
  readonly code: string;

  constructor(
    message: string,
    { code = "unreachable", ...options }: ErrorOptions & { code?: string } = {},
  ) {
    super(message, options);
    this.code = code;
  }
}

export type Question = {
  method: "GET" | "POST" | "DELETE";
  /** Path after the address of control, with a slash. */
  path: string;
  token?: string;
  body?: object;
  headers?: Record<string, string>;
  /** 0: it waits for as long as the work takes. */
  timeoutMs?: number;
  signal?: AbortSignal;
};

/** A little longer than control takes at most, so that the command shows its refusal. */
const answerTimeoutMs = 40_000;

/** The trace of the pipeline that has started the command, by the variables that OpenTelemetry names for it. */
function traceHeaders({ TRACEPARENT: traceparent, TRACESTATE: tracestate }: NodeJS.ProcessEnv) {
  const trace = readTrace({ traceparent, tracestate });
  return trace === undefined ? {} : headersOf(trace);
}

/** `body`: undefined if it is no JSON. Throws `ConnectionError` without an answer. */
export async function ask(url: string, question: Question) {
  const { path, token, body, headers, timeoutMs = answerTimeoutMs, ...others } = question;
  try {
    const answer = await request(`${url}${path}`, {
      ...others,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...traceHeaders(process.env),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const bytes = await readAnswer(answer.body, answerLimits);
    return { status: answer.statusCode, body: parseJson(bytes) };
  } catch (cause) {
    if (cause instanceof OversizeError) throw cause;
    const { code = "no answer" } = cause as { code?: string };
    throw new ConnectionError(`${url} cannot be reached (${code})`, { cause });
  }
}

/** The gateway, or a proxy before it, answers 502 to 504 while something behind it is down; `lasting`: the code of such a refusal that no retry changes. */
export function refusalOf(
  url: string,
  { status, body }: { status: number; body: unknown },
  lasting: string,
): Error {
  const given = (body ?? {}) as { detail?: unknown; code?: unknown };
  const foreign = `${url} answered ${status}, and not as Vedette's control does`;
  const detail = typeof given.detail === "string" ? given.detail : foreign;
  const code = typeof given.code === "string" ? given.code : "unexpected_answer";
  const mayRetry = [502, 503, 504].includes(status) && code !== lasting;
  return mayRetry
    ? new ConnectionError(detail, { code })
    : new ProblemError({ status, code, detail });
}

/** The body of an answer. Throws `OversizeError`, or another error when the answer does not end in time. */
export async function readAnswer(body: Body, limits: AnswerLimits): Promise<Buffer> {
  const late = new Error("the answer does not end");
  const timer = setTimeout(() => body.destroy(late), limits.withinMs);
  try {
    const whole = await readBody(body, limits.bytes);
    if (whole === undefined) throw tooLarge(limits);
    return whole;
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge({ bytes }: AnswerLimits): OversizeError {
  return new OversizeError(
    `the answer is larger than ${bytes / mib} MiB: is the address that of control?`,
  );
}
