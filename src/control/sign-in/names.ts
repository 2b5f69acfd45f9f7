/** Names of the provider's accounts, in Postgres: a name is its first account's, an account keeps its first name. */
import { createHash } from "node:crypto";
import { DatabaseError } from "pg";
import { inTime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { namesAway } from "./refusals.ts";

export type Account = { issuer: string; subject: string };

export function accountOf({ issuer }: { issuer: string }, subject: string): Account {
  return { issuer: new URL(issuer).href, subject };
}

/** Stands for an account in what is recorded, and says nothing of it. */
export function accountId(settings: { issuer: string }, subject: string): string {
  const { issuer } = accountOf(settings, subject);
  return createHash("sha256")
    .update(JSON.stringify([issuer, subject]))
    .digest("base64url");
}

/** Each throws 503 when Postgres does not answer in time. */
export type Names = {
  /** undefined: the account has no name yet. */
  find: (account: Account) => Promise<string | undefined>;
  /** The account's name: this one, or the one it had before; undefined: this one belongs to another account. */
  take: (account: Account, name: string) => Promise<string | undefined>;
  /** Gives the account this name, also one that another account has had. */
  assign: (account: Account, name: string) => Promise<void>;
  /** The subject of the account that has this name; undefined: none has. */
  holder: (issuer: string, name: string) => Promise<string | undefined>;
};

/** Somebody waits for it, in a browser. */
const timeoutMs = 3_000;

export function createNames(database: Database, log: Log): Names {
  const ask = async (statement: string, values: string[]): Promise<Answer> => {
    let detail = `no answer in ${timeoutMs} ms`;
    const asked = query(database, { statement, values }).catch((error: Error) => {
      detail = error.message;
      return undefined;
    });
    const answer = await inTime(() => asked, { limitMs: timeoutMs, otherwise: undefined });
    if (answer !== undefined) return answer;
    log.warn({ detail }, "name of a sign-in not looked up");
    throw namesAway();
  };
  return {
    find: async ({ issuer, subject }) => (await ask(findName, [issuer, subject])).name,
    take: async ({ issuer, subject }, name) => (await ask(takeName, [issuer, subject, name])).name,
    assign: async ({ issuer, subject }, name) => {
      await ask(assignName, [issuer, subject, name]);
    },
    holder: async (issuer, name) => (await ask(findHolder, [issuer, name])).name,
  };
}

type Answer = { name: string | undefined };

const uniqueViolation = "23505";

async function query(
  database: Database,
  { statement, values }: { statement: string; values: string[] },
): Promise<Answer> {
  try {
    const { rows } = await database.query(statement, values);
    return { name: rows[0]?.name };
  } catch (error) {
    const isTaken = error instanceof DatabaseError && error.code === uniqueViolation;
    if (isTaken && statement === takeName) return { name: undefined };
    throw error;
  }
}

const findName = "SELECT name FROM sign_in_names WHERE issuer = $1 AND subject = $2";

const findHolder = "SELECT subject AS name FROM sign_in_names WHERE issuer = $1 AND name = $2";

// One of two processes inserts. The name of another account violates the other unique index.
const takeName = `
  INSERT INTO sign_in_names (issuer, subject, name) VALUES ($1, $2, $3)
  ON CONFLICT (issuer, subject) DO UPDATE SET last_at = now()
  RETURNING name`;

// The insert reads the count, so that the name is free before it.
const assignName = `
  WITH before AS (
    DELETE FROM sign_in_names WHERE issuer = $1 AND name = $3 AND subject <> $2 RETURNING subject
  )
  INSERT INTO sign_in_names (issuer, subject, name)
  SELECT $1, $2, $3 FROM (SELECT count(*) FROM before) AS freed
  ON CONFLICT (issuer, subject) DO UPDATE SET name = excluded.name, last_at = now()
  RETURNING name`;
