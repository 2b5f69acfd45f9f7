/** The store's failures, classified by what the caller can do about them. */
import { ClickHouseError } from "@clickhouse/client";

export type EngineFailure =
  /** The query cannot be run as it is; the message says why. */
  | "invalid"
  | "timeout"
  | "memory"
  /** The query reads or returns too many rows. */
  | "rows"
  /** The query's result is too large. */
  | "size"
  | "quota"
  /** The store cannot be reached, or is not ready yet. */
  | "away"
  /** There is no store: none is set up, and the embedded one is not installed. */
  | "absent";

/** `message` may be shown to the caller; the cause may not. */
export class EngineError extends Error {
  readonly failure: EngineFailure;

  constructor(failure: EngineFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** ClickHouse's error codes that are not about the text of the query (ErrorCodes.cpp). */
const failureOfCode: Record<string, EngineFailure> = {
  159: "timeout", // TIMEOUT_EXCEEDED
  160: "timeout", // TOO_SLOW
  209: "timeout", // SOCKET_TIMEOUT
  241: "memory", // MEMORY_LIMIT_EXCEEDED
  158: "rows", // TOO_MANY_ROWS
  191: "rows", // SET_SIZE_LIMIT_EXCEEDED
  307: "size", // TOO_MANY_BYTES
  396: "size", // TOO_MANY_ROWS_OR_BYTES
  201: "quota", // QUOTA_EXCEEDED
  202: "quota", // TOO_MANY_SIMULTANEOUS_QUERIES
  60: "away", // UNKNOWN_TABLE: the names are ours, so the store is not prepared
  81: "away", // UNKNOWN_DATABASE
  192: "away", // UNKNOWN_USER
  193: "away", // WRONG_PASSWORD
  516: "away", // AUTHENTICATION_FAILED
  497: "away", // ACCESS_DENIED: the user we were given may not read
};

const syntaxErrorCode = "62";

const messages: Record<EngineFailure, string> = {
  invalid: "The query cannot be run.",
  timeout: "The query took too long. Narrow its time range or aggregate less.",
  memory: "The query needs too much memory. Narrow its time range or group by fewer columns.",
  rows: "The query reads too many rows. Narrow its time range.",
  size: "The answer is too large. Select fewer columns or rows.",
  quota: "Too many queries at the same time. Please try again later.",
  away: "The analytics store cannot be reached.",
  absent: "Analytics are not configured.",
};

export function engineError(failure: EngineFailure, cause?: unknown): EngineError {
  return new EngineError(failure, messages[failure], { cause });
}

/** Classifies an error of the store, or of the connection to it. */
export function explainQueryError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  if (!(error instanceof ClickHouseError)) {
    const isTimeout = error instanceof Error && /timeout/i.test(`${error.name} ${error.message}`);
    return engineError(isTimeout ? "timeout" : "away", error);
  }
  const failure = failureOfCode[error.code];
  if (failure !== undefined) return engineError(failure, error);
  // The message is about the statement that we generated from the query: it would not help the caller.
  if (error.code === syntaxErrorCode) return engineError("invalid", error);
  return new EngineError("invalid", publicReason(error.message), { cause: error });
}

/** The store's message without its parts about the statement that we generated from the query. */
function publicReason(message: string): string {
  const [reason = ""] = message.split(/[:.,]? (?:in scope|while) /i);
  const plain = reason.replace(/`|\s+/g, " ").replaceAll("  ", " ").trim();
  return plain === "" ? messages.invalid : `${plain.slice(0, 300).replace(/[:.]+$/, "")}.`;
}

/** Codes for invalid rows, for which a retry is useless. */
const refusals = new Set(["6", "16", "26", "27", "33", "53", "72", "117"]);

/** True if the store refuses a batch because of its content. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ClickHouseError && refusals.has(error.code);
}
