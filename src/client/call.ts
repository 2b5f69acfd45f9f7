/** One call to control, within limits: the address may be that of any server. */
import { VedetteError } from "./vedette-error.ts";

export type Gateway = {
  /** An address without a slash at its end. */
  url: string;
  headers: Record<string, string>;
  send: typeof fetch;
};

export type Call = {
  /** A path without a slash at its start. */
  path: string;
  body: object;
  limitMs: number;
  signal?: AbortSignal | undefined;
  idempotencyKey?: string | undefined;
};

const mib = 1024 * 1024;
const largestAnswer = 64 * mib;

/** The body of the answer. Throws `VedetteError`, or the reason of the caller's signal. */
export async function callOnce(gateway: Gateway, call: Call): Promise<unknown> {
  call.signal?.throwIfAborted();
  const late = AbortSignal.timeout(call.limitMs);
  const signal = call.signal === undefined ? late : AbortSignal.any([late, call.signal]);
  try {
    return await exchange(gateway, call, signal);
  } catch (error) {
    call.signal?.throwIfAborted();
    if (error instanceof VedetteError) throw error;
    throw noAnswer(gateway, { error, call, isLate: late.aborted });
  }
}

async function exchange(gateway: Gateway, call: Call, signal: AbortSignal): Promise<unknown> {
  const answer = await gateway.send(`${gateway.url}/${call.path}`, {
    method: "POST",
    headers: {
      ...gateway.headers,
      ...(call.idempotencyKey !== undefined && { "idempotency-key": call.idempotencyKey }),
    },
    body: JSON.stringify(call.body),
    // The token is for this address alone.
    redirect: "manual",
    signal,
  });
  const body = parse(await readText(gateway, answer));
  if (answer.ok) return body;
  throw new VedetteError({ status: answer.status, ...problemOf(gateway, answer.status, body) });
}

function problemOf({ url }: Gateway, status: number, body: unknown) {
  const { code, detail } = (body ?? {}) as { code?: unknown; detail?: unknown };
  if (typeof code === "string" && typeof detail === "string") return { code, detail };
  return {
    code: "unexpected_answer",
    detail: `${url} answered ${status}, and not as Vedette does`,
  };
}

type Failure = { error: unknown; call: Call; isLate: boolean };

function noAnswer({ url }: Gateway, { error: cause, call, isLate }: Failure): VedetteError {
  if (isLate) {
    const detail = `no answer of ${url} within ${call.limitMs} ms`;
    return new VedetteError({ status: 0, code: "timeout", detail }, { cause });
  }
  const { message, cause: reason } = cause as Error & { cause?: { code?: string } };
  const detail = `${url} cannot be reached (${reason?.code ?? message})`;
  return new VedetteError({ status: 0, code: "unreachable", detail }, { cause });
}

async function readText({ url }: Gateway, answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.byteLength;
    if (size > largestAnswer) {
      const detail = `the answer of ${url} is larger than ${largestAnswer / mib} MiB: is it the address of control?`;
      throw new VedetteError({ status: answer.status, code: "unexpected_answer", detail });
    }
    chunks.push(chunk);
  }
  return new TextDecoder().decode(
    await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer(),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
