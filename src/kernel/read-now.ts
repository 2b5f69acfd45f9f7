/** Reads for somebody who waits: what cannot be read is refused soon, and as what it is. */
import { type Context, TerminalError } from "@restatedev/restate-sdk";
import pRetry from "p-retry";
import { ProblemError } from "./problem.ts";
import { unlessLate } from "./unless-aborted.ts";

type ReadSettings = {
  /** Of the step. */
  name: string;
  /** How long all attempts together may take. */
  limitMs: number;
  /** What the caller is told, from the last attempt's error. */
  describe: (error: Error) => string;
};

/** Of a read of the database; `problem` is what is not possible without it: "backups cannot be read". */
export function databaseRead(
  name: string,
  { limitMs, problem }: { limitMs: number; problem: string },
): ReadSettings {
  const detail = `${problem} now, because the database does not answer`;
  return { name, limitMs, describe: () => detail };
}

/**
 * One journaled step, tried again for some seconds: a server that starts anew is waited for. Throws a 503
 * (`unavailable`) when there is no answer; a `ProblemError` of `read` at once, as it is.
 */
export function readNow<Answer>(
  ctx: Pick<Context, "run" | "console">,
  { name, limitMs, describe }: ReadSettings,
  read: () => Promise<Answer>,
): Promise<Answer> {
  return ctx.run(name, async () => {
    try {
      return await readWithin(limitMs, read);
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      ctx.console.warn("not read", { step: name, err: error });
      // A fault of ours, which no attempt puts right, and nobody else's business.
      if (error instanceof TypeError) throw new TerminalError("internal error", { errorCode: 500 });
      const detail = `${describe(error as Error)}: try again in a moment`;
      throw new ProblemError({ status: 503, code: "unavailable", detail }, { cause: error });
    }
  });
}

/** What fails at once is given up after some three seconds; what is refused is refused again. */
const attempts = {
  retries: 4,
  minTimeout: 200,
  maxTimeout: 2_000,
  shouldRetry: ({ error }: { error: Error }) => !(error instanceof ProblemError),
};

/** An attempt that does not end is left behind: it has a limit of its own. */
function readWithin<Answer>(limitMs: number, read: () => Promise<Answer>): Promise<Answer> {
  const late = new Error(`no answer within ${limitMs / 1_000} seconds`);
  return unlessLate((signal) => pRetry(read, { ...attempts, signal }), { limitMs, late });
}
