import { TerminalError } from "@restatedev/restate-sdk";
import { ProblemError } from "./problem.ts";

/** A refusal inside a Restate handler: answered at once with its status, never retried. */
export function toTerminalError(problem: ProblemError): TerminalError {
  return new TerminalError(problem.message, {
    errorCode: problem.status,
    metadata: { code: problem.code },
  });
}

/** The option of that name of every service that refuses: whatever else is thrown is tried again. */
export function asTerminalError(error: unknown): TerminalError | undefined {
  return error instanceof ProblemError ? toTerminalError(error) : undefined;
}
