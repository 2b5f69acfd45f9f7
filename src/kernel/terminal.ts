import { TerminalError } from "@restatedev/restate-sdk";
import type { ProblemError } from "./problem.ts";

/** A refusal inside a Restate handler: answered at once with its status, never retried. */
export function toTerminalError(problem: ProblemError): TerminalError {
  return new TerminalError(problem.message, {
    errorCode: problem.status,
    metadata: { code: problem.code },
  });
}
