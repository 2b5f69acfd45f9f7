/** The body of every error response (RFC 9457), with a stable `code` for programs. */
export type Problem = { type: string; title: string; status: number; detail: string; code: string };

type ProblemInit<Code extends string> = { status: number; code: Code; detail: string };

/** A refusal that the caller can act on: `detail` says what is wrong and what to do. Other errors' texts stay here. */
export class ProblemError<Code extends string = string> extends Error {
  readonly status: number;
  readonly code: Code;

  constructor(init: ProblemInit<Code>, options?: ErrorOptions) {
    super(init.detail, options);
    this.name = "ProblemError";
    this.status = init.status;
    this.code = init.code;
  }
}

const titles: Record<number, string> = {
  400: "Bad request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  408: "Request timeout",
  409: "Conflict",
  412: "Precondition failed",
  413: "Payload too large",
  415: "Unsupported media type",
  422: "Unprocessable content",
  424: "Failed dependency",
  429: "Too many requests",
  502: "Bad gateway",
  503: "Service unavailable",
  504: "Gateway timeout",
};

/** The HTTP body of an error. One that is not a `ProblemError` becomes a plain 500. */
export function toProblem(error: unknown): Problem {
  if (!(error instanceof ProblemError)) {
    return describeProblem({
      status: 500,
      code: "internal_error",
      detail: "Something went wrong here; the log of this request has the cause.",
    });
  }
  return describeProblem({ status: error.status, code: error.code, detail: error.message });
}

/** The RFC 9457 body of a status, a code and a detail. */
export function describeProblem(init: ProblemInit<string>): Problem {
  return {
    type: `urn:vedette:problem:${init.code}`,
    title: titles[init.status] ?? "Internal error",
    status: init.status,
    detail: init.detail,
    code: init.code,
  };
}

/** Throws when something that must hold does not: always a bug of ours, never of the caller. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}

/**
 * True if a caller should try again in a moment: Postgres cannot be reached, hangs or is overloaded (SQLSTATE
 * classes 08, 53, 57), or there was no connection at all.
 */
export function isUnavailable({ code, message }: Error & { code?: unknown }): boolean {
  return unavailable.test(String(code ?? "")) || /timeout|terminat/i.test(message);
}

const unavailable = /^(08|53|57)|^E[A-Z]+$|^UND_ERR_SOCKET$/;

/** True if a server is away: where in the code that was noticed says nothing. */
export function isOutage(error: unknown, depth = 0): error is Error & { code?: unknown } {
  if (!(error instanceof Error) || depth > 5) return false;
  if (error instanceof ProblemError && error.status > 500) return true;
  return isUnavailable(error) || isOutage(error.cause, depth + 1);
}
