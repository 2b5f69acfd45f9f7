/** Calls of the addresses of `control` that sign people in and out. */
import type { z } from "zod";
import { answerLimits, OversizeError, readAnswer } from "#cli/answer.ts";
import { ConnectionError } from "#cli/connection.ts";
import { signInPath } from "#control/sign-in/contract.ts";
import { parseJson } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";

type Question = {
  method: "GET" | "POST" | "DELETE";
  path: string;
  body?: object;
  token?: string;
};

/** A refusal by `control`, with its status. */
export class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A little longer than `control` takes at most, which asks the identity provider meanwhile. */
const timeoutMs = 40_000;

/** Throws `Refusal`, or `ConnectionError`. */
export async function askControl<Schema extends z.ZodType>(
  url: string,
  question: Question,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const { status, text } = await send(url, question);
  const body = status === 204 ? null : parseJson(Buffer.from(text));
  if (status >= 300) throw refusalOf(url, { status, body });
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new Error("the answer is not from Vedette: is the address that of control?");
}

function refusalOf(url: string, { status, body }: { status: number; body: unknown }): Error {
  const { detail, code } = (body ?? {}) as { detail?: unknown; code?: unknown };
  const message = typeof detail === "string" ? detail : `${url} answered ${status}`;
  const mayRetry = [502, 503, 504].includes(status) && code !== "sign_in_unavailable";
  return mayRetry ? new ConnectionError(message) : new Refusal(status, message);
}

async function send(url: string, { method, path, body, token }: Question) {
  try {
    const answer = await request(`${url}${signInPath}/${path}`, {
      method,
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    return { status: answer.statusCode, text: await readAnswer(answer.body, answerLimits) };
  } catch (cause) {
    if (cause instanceof OversizeError) throw cause;
    const { code = "no answer" } = cause as { code?: string };
    throw new ConnectionError(`${url} cannot be reached (${code})`, { cause });
  }
}
