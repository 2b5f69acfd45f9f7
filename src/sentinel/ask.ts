/** Puts a request to the upstream; once more where only the connection was to blame. */
import type { IncomingHttpHeaders } from "node:http";
import { type Dispatcher, Pool } from "undici";
import { ProblemError } from "#kernel/problem.ts";

/** Throws a `ProblemError` (502) when there is no answer, or none that can be passed on. */
export type Ask = (options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

/** Interim answers (1xx) before the real one; who sends more never comes to it. */
const interimAtMost = 20;

/** What ends later than this was not a connection that had been closed before we wrote to it. */
const staleWithinMs = 2_000;

export function createAsk(origin: string, silenceMs: number): Ask {
  const settings = {
    allowH2: false,
    connect: { timeout: 10_000 },
    // The wait for an answer begins when the request is sent, which may take its time.
    headersTimeout: 0,
    bodyTimeout: silenceMs,
  };
  const kept = new Pool(origin, { ...settings, pipelining: 1 });
  // Without keep-alive: a connection from here was never used before.
  const fresh = new Pool(origin, { ...settings, pipelining: 0 });
  return async (options) => {
    const startedAt = performance.now();
    const question = { ...options, onInfo: countInterim() };
    try {
      const answer = await kept.request(question).catch((error: Error) => {
        const isStale = performance.now() - startedAt < staleWithinMs && isLostConnection(error);
        if (!isStale || !isRepeatable(options)) throw error;
        return fresh.request(question);
      });
      requireReadable(answer);
      return answer;
    } catch (cause) {
      if (cause instanceof ProblemError) throw cause;
      throw unreachable(cause);
    }
  };
}

/**
 * An upstream may close a connection that is idle in the very moment in which we use it: then nobody
 * can tell whether the request was read. What changes nothing is asked again (RFC 9110, section 9.2.2).
 */
function isRepeatable({ method, body }: Dispatcher.RequestOptions): boolean {
  return ["GET", "HEAD", "OPTIONS"].includes(method) && (body ?? null) === null;
}

function isLostConnection(error: Error): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"].includes(code);
}

function countInterim(): () => void {
  let interim = 0;
  return () => {
    interim += 1;
    if (interim > interimAtMost) throw new Error("the upstream answers without an end");
  };
}

/** A body in another coding than chunks would be passed on without the header that names its coding. */
function requireReadable(answer: Dispatcher.ResponseData): void {
  if (isPlainlyCoded(answer.headers)) return;
  answer.body.on("error", () => {}).destroy();
  throw unreachable(new Error("the answer has a transfer coding that nobody asked for"));
}

/** Whether no other transfer coding than chunks is in the way of a body. */
export function isPlainlyCoded(headers: IncomingHttpHeaders): boolean {
  const codings = String(headers["transfer-encoding"] ?? "identity");
  return /^\s*(chunked|identity)\s*$/i.test(codings);
}

export function unreachable(cause: unknown): ProblemError {
  const detail = "the upstream cannot be reached, or does not speak HTTP as it should";
  return new ProblemError({ status: 502, code: "bad_gateway", detail }, { cause });
}
