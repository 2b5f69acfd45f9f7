/** Reads for a caller who is waiting: a failing read becomes a 503 within seconds instead of endless retries. */
import { type Context, TerminalError } from "@restatedev/restate-sdk";
import pRetry from "p-retry";
import { unlessLate } from "./async.ts";
import { isHung } from "./hang-watch.ts";
import { ProblemError } from "./problem.ts";

type ReadSettings = {
  name: string;
  /** Limit of all attempts together. */
  limitMs: number;
  /** The message for the caller, from the last attempt's error. */
  describe: (error: Error) => string;
};

/** Settings for reading the database; `problem` says what fails without it: "backups cannot be read". */
export function databaseRead(
  name: string,
  { limitMs, problem }: { limitMs: number; problem: string },
): ReadSettings {
  const detail = `${problem} now, because the database does not answer`;
  return { name, limitMs, describe: () => detail };
}

/** Restate takes no message of more than 32 MB: it would repeat the call for ever. */
const longestAnswer = 24_000_000;

function requireShort(answer: unknown): void {
  if (Buffer.byteLength(JSON.stringify(answer) ?? "") <= longestAnswer) return;
  const detail = "there is more of it than one answer may have: ask for less, or for a part of it";
  throw new ProblemError({ status: 422, code: "too_much", detail });
}

/**
 * One journaled step, retried for some seconds in case a server is restarting. Throws a 503 (`unavailable`)
 * when all attempts fail, and a 422 for too long an answer; a `ProblemError` of `read` is thrown at once, unchanged.
 */
export function readNow<Answer>(
  ctx: Pick<Context, "run" | "console">,
  { name, limitMs, describe }: ReadSettings,
  read: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  return ctx.run(name, async () => {
    try {
      const answer = await readPatiently(limitMs, read);
      requireShort(answer);
      return answer;
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      ctx.console.warn("not read", { step: name, err: error });
      // A bug of ours: retries don't help, and callers need no details.
      if (error instanceof TypeError) throw new TerminalError("internal error", { errorCode: 500 });
      const detail = `${describe(error as Error)}: try again in a moment`;
      throw new ProblemError({ status: 503, code: "unavailable", detail }, { cause: error });
    }
  });
}

/** About three seconds in all when every attempt fails at once. A refusal is not retried, nor a server that hangs. */
const attempts = {
  retries: 4,
  minTimeout: 200,
  maxTimeout: 2_000,
  shouldRetry: ({ error }: { error: Error }) => !(error instanceof ProblemError || isHung(error)),
};

/** Retried for some seconds. An attempt still running at the limit is abandoned: its signal, or its own timeout, ends it. */
export function readPatiently<Answer>(
  limitMs: number,
  read: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const limit = { limitMs, late: new Error(`no answer within ${limitMs / 1_000} seconds`) };
  return unlessLate((signal) => pRetry(() => read(signal), { ...attempts, signal }), limit);
}
