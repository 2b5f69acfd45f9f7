/** The key with which the gateway signs callers' names for the worker. */
import { randomBytes } from "node:crypto";
import type { Database } from "#kernel/database.ts";

const name = "actor";

/** Created by the first process that reads it, and the same for all processes of a database. */
export async function readActorKey(database: Database): Promise<Uint8Array> {
  await database.query(
    "INSERT INTO shared_keys (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
    [name, randomBytes(32)],
  );
  const { rows } = await database.query<{ value: Buffer }>(
    "SELECT value FROM shared_keys WHERE name = $1",
    [name],
  );
  const [row] = rows;
  if (row === undefined)
    throw new Error("the key that signs callers' names is not in the database");
  return row.value;
}
