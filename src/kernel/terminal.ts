import { TerminalError } from "@restatedev/restate-sdk";
import { ProblemError } from "./problem.ts";

/** A refusal inside a Restate handler: the caller gets its status at once, and Restate doesn't retry. */
export function toTerminalError(problem: ProblemError): TerminalError {
  return new TerminalError(problem.message, {
    errorCode: problem.status,
    metadata: { code: problem.code },
  });
}

/** Serves as the option `asTerminalError` of every service that refuses calls: any other error is retried. */
export function asTerminalError(error: unknown): TerminalError | undefined {
  return error instanceof ProblemError ? toTerminalError(error) : undefined;
}
