/** Reads the changes before a moment from the tables of their slices: one statement, in which each kind is bounded. */
import { type Database, inTransaction } from "#kernel/database.ts";
import type { Blame, Change } from "./contract.ts";
import { keys } from "./kinds/keys.ts";
import type { Row } from "./kinds/kind.ts";
import { rollouts } from "./kinds/rollouts.ts";
import { definitions, routes } from "./kinds/rows.ts";
import { starts } from "./kinds/starts.ts";
import { rank } from "./rank.ts";

/** A kind of change is a file beside these and its line here. */
const kinds = { rollouts, definitions, routes, keys, starts };

/** A cause is looked for so far back. */
const backMs = 24 * 3_600_000;

/** Nobody waits for longer, and a statement that went on would keep a connection from those who do. */
const limitMs = 1_000;

/** Reads what had changed by then, for alerts that open then. `keyHashes`: of the keys that checks use. */
export function createReadBlame(database: Database, keyHashes: readonly string[]) {
  return async (nowMs: number): Promise<Blame> => {
    const changes = await readChanges(database, { nowMs, keyHashes });
    return (alert) => rank(alert, changes);
  };
}

type Asked = { nowMs: number; keyHashes: readonly string[] };

async function readChanges(database: Database, { nowMs, keyHashes }: Asked): Promise<Change[]> {
  const values = [new Date(nowMs - backMs), new Date(nowMs), keyHashes];
  const { rows } = await inTransaction(database, async (transaction) => {
    await transaction.query(`SET LOCAL statement_timeout = ${limitMs}`);
    return transaction.query<{ kind: keyof typeof kinds; row: Row }>(readAll, values);
  });
  return rows.map(({ kind, row }) => kinds[kind].toChange(row));
}

const readAll = Object.entries(kinds)
  .map(([kind, { sql }]) => `SELECT '${kind}' AS kind, to_jsonb(t) AS row FROM (${sql}) AS t`)
  .join("\nUNION ALL\n");
