import { z } from "zod";
import { ConnectionError } from "#cli/answer.ts";
import { ProblemError } from "#kernel/problem.ts";
import { askControl } from "./ask-control.ts";

/** Ends a session at `control`. Returns whether it has ended there: not when `control` is away, or in trouble. */
export async function endSession(url: string, token: string): Promise<boolean> {
  try {
    await askControl(url, { method: "DELETE", path: "session", token }, z.null());
    return true;
  } catch (error) {
    if (error instanceof ConnectionError) return false;
    if (error instanceof ProblemError && error.status >= 500) return false;
    // It has ended there already.
    if (error instanceof ProblemError && error.status === 401) return true;
    throw error;
  }
}
