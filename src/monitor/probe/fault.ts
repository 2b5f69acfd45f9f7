/** Describes why a request failed, without quoting an address or a header. */
import { ContentCodingError } from "#kernel/content-coding.ts";
import { formatDuration } from "#kernel/duration.ts";
import { ClosedAddressError } from "#kernel/reach.ts";
import type { PhaseTimes } from "./timing.ts";

/** An error whose message is the description. */
export class ProbeFault extends Error {}

type FaultContext = {
  signal: AbortSignal;
  limits: { timeoutMs: number };
  timing: PhaseTimes;
};

export function describeFault(error: unknown, { signal, limits, timing }: FaultContext): string {
  if (signal.aborted) {
    const limit = formatDuration(limits.timeoutMs);
    return timing.connectedAtMs === undefined
      ? `no connection within ${limit}`
      : `no whole answer within ${limit}`;
  }
  const described = [ProbeFault, ContentCodingError, ClosedAddressError];
  if (described.some((kind) => error instanceof kind)) return (error as Error).message;
  const { code, name } = innermost(error);
  const word = code ?? name;
  if (word.startsWith("ERR_SSL_")) return `the TLS connection failed (${word})`;
  return faults[word] ?? `the request failed (${word})`;
}

/** Whether nothing answered, neither the host nor a name server: the fault may be that of our own network. */
export function isUnreached(error: unknown, signal: AbortSignal): boolean {
  if (signal.aborted) return true;
  if (error instanceof ProbeFault) return false;
  const { code, name } = innermost(error);
  return unreached.has(code ?? name);
}

const unreached: ReadonlySet<string> = new Set([
  ...["ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ENETDOWN", "ETIMEDOUT"],
  // Of a name server.
  "ETIMEOUT",
]);

/** The root cause; if several addresses were tried, that of the first. */
function innermost(error: unknown): NodeJS.ErrnoException {
  const { errors, cause } = error as { errors?: unknown[]; cause?: unknown };
  if (errors?.[0] !== undefined) return innermost(errors[0]);
  return cause instanceof Error ? innermost(cause) : (error as NodeJS.ErrnoException);
}

const faults: Record<string, string> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the host's name could not be looked up",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the host",
  ETIMEDOUT: "no connection in time",
  UND_ERR_SOCKET: "connection closed before the answer was whole",
  HTTPParserError: "the answer is not HTTP",
  UND_ERR_HEADERS_OVERFLOW: "the answer's headers are too long",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer's length is not the one that it says",
  UND_ERR_RES_EXCEEDED_MAX_SIZE: "the answer is too long when it is decompressed",
  ERR_INVALID_URL: "the address is not valid",
};
