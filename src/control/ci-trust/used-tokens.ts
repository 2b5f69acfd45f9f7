/** Tokens of CI jobs that were used, in Postgres: each counts once, over all processes. */
import { unlessLate } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { longestAge } from "./issuers.ts";

export type UsedTokens = {
  /** False: the token was used before. Throws 503 when Postgres does not answer: then nobody knows. */
  add: (hash: Buffer) => Promise<boolean>;
};

const timeoutMs = 3_000;

export function createUsedTokens(database: Database, log: Log): UsedTokens {
  const store = async (hash: Buffer): Promise<boolean> => {
    const { rowCount } = await database.query(useToken, [hash, 2 * longestAge]);
    return rowCount === 1;
  };
  return {
    add: async (hash) => {
      const late = new Error("no answer in time");
      try {
        return await unlessLate(() => store(hash), { limitMs: timeoutMs, late });
      } catch (error) {
        log.warn({ detail: (error as Error).message }, "used token not stored");
        throw databaseAway(error);
      }
    },
  };
}

function databaseAway(cause: unknown): ProblemError {
  const detail =
    "Postgres, which has the tokens that were used, does not answer: get a new token and try again";
  return new ProblemError({ status: 503, code: "unavailable", detail }, { cause });
}

// Of two processes with one token, one inserts the row.
const useToken = `
  WITH old AS (DELETE FROM ci_tokens WHERE used_at < now() - make_interval(secs => $2))
  INSERT INTO ci_tokens (token_hash) VALUES ($1) ON CONFLICT DO NOTHING`;
