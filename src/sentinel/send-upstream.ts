/** Sends a request to the upstream, and retries once when the upstream had closed the connection. */
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher, Pool } from "undici";
import { ProblemError } from "#kernel/problem.ts";

/** Throws a `ProblemError` (502) when there is no answer, or one that cannot be forwarded. */
export type SendUpstream = (options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

/** More interim answers (1xx) would hold the final one up. They are not forwarded: callers take them for it. */
const interimAtMost = 20;

/** A connection that fails later than this had not been closed before we wrote to it. */
const staleWithinMs = 2_000;

export type Client = typeof import("#kernel/http.ts");
let client: Client | undefined;

/** Loads the client with the first request, in some 50 ms: it is half of a sentinel's memory, and many get no request. */
export async function loadClient(): Promise<Client> {
  client ??= await import("#kernel/http.ts");
  return client;
}

export function createSendUpstream(origin: string, silenceMs: number): SendUpstream {
  const settings = {
    allowH2: false,
    connect: { timeout: 10_000 },
    // No timeout here: `forward.ts` limits the wait from the end of the request, which may be long.
    headersTimeout: 0,
    bodyTimeout: silenceMs,
  };
  let pools: { reused: Pool; fresh: Pool } | undefined;
  return async (options) => {
    const { Pool } = await loadClient();
    pools ??= {
      reused: new Pool(origin, { ...settings, pipelining: 1 }),
      // Without keep-alive, so that every connection is new.
      fresh: new Pool(origin, { ...settings, pipelining: 0 }),
    };
    const { reused, fresh } = pools;
    const startedAt = performance.now();
    const request = { ...options, onInfo: countInterim() };
    try {
      const answer = await reused.request(request).catch((error: Error) => {
        const isStale = performance.now() - startedAt < staleWithinMs && isLostConnection(error);
        if (!isStale || !isRepeatable(options)) throw error;
        return fresh.request(request);
      });
      requireReadable(answer);
      return answer;
    } catch (cause) {
      if (cause instanceof ProblemError) throw cause;
      throw unreachable(cause);
    }
  };
}

/** An idle connection may close as we use it, unknown if read: only idempotent ones are retried (RFC 9110, 9.2.2). */
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
    if (interim > interimAtMost) throw new Error("the upstream sends too many interim answers");
  };
}

/** A body in another coding than chunks would be forwarded without the header that names its coding. */
function requireReadable(answer: Dispatcher.ResponseData): void {
  if (isPlainlyCoded(answer.headers)) return;
  answer.body.on("error", () => {}).destroy();
  throw unreachable(new Error("the answer has a transfer coding that was not requested"));
}

/** True if the body has no other transfer coding than chunks. */
export function isPlainlyCoded(headers: IncomingHttpHeaders): boolean {
  const codings = String(headers["transfer-encoding"] ?? "identity");
  return /^\s*(chunked|identity)\s*$/i.test(codings);
}

export function unreachable(cause: unknown): ProblemError {
  const detail = "the upstream cannot be reached, or its answer is not valid HTTP";
  return new ProblemError({ status: 502, code: "bad_gateway", detail }, { cause });
}
