/** Times one run of a probe, whatever its kind, and turns its errors into outcomes. */
import { ContentCodingError } from "#kernel/content-coding.ts";
import type { Reach } from "#kernel/reach.ts";
import { formatDuration } from "#kernel/time.ts";

/** The parts of a response time, in the order in which they happen. */
export const phaseNames = ["dns", "connect", "tls", "firstByte", "transfer"] as const;

type OfEachPhase<Value> = Record<(typeof phaseNames)[number], Value>;

export function ofEachPhase<Value>(value: Value): OfEachPhase<Value> {
  return Object.fromEntries(phaseNames.map((name) => [name, value])) as OfEachPhase<Value>;
}

/** The durations in ms; null: the phase did not take place (a reused connection, plain HTTP, an earlier error). */
export type Phases = OfEachPhase<number | null>;

export const noPhases: Phases = ofEachPhase(null);

/** `durationMs`: from the start to the end or the error. */
export type Measured<Outcome> = {
  durationMs: number;
  phases: Phases;
  /** The days left of the certificate of the chain that ends first. */
  tlsDaysLeft: number | null;
  /** The name of the issuer whose certificate that is; absent: it is the server's own. */
  tlsIssuer?: string | null;
  outcome: Outcome;
};

/** `reason` is shown to people and contains no secret, e.g. `connection refused`. */
export type Failure = { kind: "error"; reason: string; isUnreached?: true };

/** An answer, or why there is none. */
export type Observation<Answer> = Measured<Answer | Failure>;

export type TimeLimit = {
  /** Over the whole run. */
  timeoutMs: number;
  /** Aborts then, for requests that share a limit; absent: the limit begins with the run. */
  signal?: AbortSignal;
  /** Absent: only metadata services are closed. */
  reach?: Reach | undefined;
};

/** Filled in while the probe runs. */
export type PhaseTimes = {
  phases: Phases;
  tlsDaysLeft: number | null;
  tlsIssuer?: string | null;
  /** On the clock of `performance.now()`. */
  connectedAtMs?: number;
};

/** Values that a run fills in, the signal that ends it, and the addresses it may reach. */
export type Attempt = { timing: PhaseTimes; signal: AbortSignal; reach: Reach };

let anyReach: Reach | undefined;

/** Never throws: an error is an outcome. `attempt` has to end when the signal is aborted. */
export async function observe<Answer>(
  limits: TimeLimit,
  attempt: (of: Attempt) => Promise<Answer | Failure>,
): Promise<Observation<Answer>> {
  // Loaded by a run alone: the command line imports this file with the contracts, and has to start fast.
  const { ClosedAddressError, createReach } = await import("#kernel/reach.ts");
  const timing: PhaseTimes = { phases: { ...noPhases }, tlsDaysLeft: null };
  const startedMs = performance.now();
  const signal = limits.signal ?? AbortSignal.timeout(limits.timeoutMs);
  anyReach ??= createReach();
  const { reach = anyReach } = limits;
  const outcome = await attempt({ timing, signal, reach }).catch((error: unknown) => ({
    kind: "error" as const,
    reason:
      error instanceof ClosedAddressError
        ? error.message
        : describeFault(error, { signal, limits, timing }),
    ...(isUnreached(error, signal) && { isUnreached: true as const }),
  }));
  const { phases, tlsDaysLeft, tlsIssuer = null } = timing;
  const durationMs = performance.now() - startedMs;
  return { durationMs, phases, tlsDaysLeft, tlsIssuer, outcome };
}

/** An error whose message is the description. */
export class ProbeFault extends Error {}

type FaultContext = { signal: AbortSignal; limits: { timeoutMs: number }; timing: PhaseTimes };

function describeFault(error: unknown, { signal, limits, timing }: FaultContext): string {
  if (signal.aborted) {
    const limit = formatDuration(limits.timeoutMs);
    return timing.connectedAtMs === undefined
      ? `no connection within ${limit}`
      : `no whole answer within ${limit}`;
  }
  if (error instanceof ProbeFault || error instanceof ContentCodingError) return error.message;
  const { code, name } = innermost(error);
  const word = code ?? name;
  if (word.startsWith("ERR_SSL_")) return `the TLS connection failed (${word})`;
  return faults[word] ?? `the request failed (${word})`;
}

/** True if nothing answered, neither the host nor a name server: the fault may be that of our own network. */
function isUnreached(error: unknown, signal: AbortSignal): boolean {
  if (signal.aborted) return true;
  if (error instanceof ProbeFault) return false;
  const { code, name } = innermost(error);
  return unreached.has(code ?? name);
}

const unreached: ReadonlySet<string> = new Set([
  ...["ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ENETDOWN", "ETIMEDOUT"],
  // The code of a name server's timeout.
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
