/** What is sealed at rest, sealed anew after a rotation. */
import type { PoolClient } from "pg";
import type { KeyRing } from "#api/keys/key-ring.ts";
import { accountName, certificateName } from "#api/tls/certificate-store.ts";
import { type Database, inTransaction } from "#kernel/database.ts";

/** A table with sealed texts; `nameOf` is what is sealed with the text of a row. */
type SealedTable = { table: string; id: string; nameOf: (id: string) => string };

const sealedTables: readonly SealedTable[] = [
  { table: "encrypted_keys", id: "key_id", nameOf: (id) => id },
  { table: "certificates", id: "names", nameOf: certificateName },
  { table: "acme_accounts", id: "directory_url", nameOf: accountName },
];

/** Seals by the ring's first key what an older one sealed. Answers how many that were. */
export async function resealKeys(database: Database, keyRing: KeyRing): Promise<number> {
  let resealed = 0;
  for (const sealed of sealedTables) {
    for (;;) {
      const work = (transaction: PoolClient) => resealSome(transaction, keyRing, sealed);
      const count = await inTransaction(database, work);
      if (count === 0) break;
      resealed += count;
    }
  }
  return resealed;
}

/** Looks at one text of each table: whether there is any, and whether the ring opens it. */
export async function findSealed(
  transaction: PoolClient,
  keyRing: KeyRing,
): Promise<"none" | "opened" | "unopened"> {
  let found: "none" | "opened" = "none";
  for (const { table, id, nameOf } of sealedTables) {
    const { rows } = await transaction.query<Row>(
      `SELECT ${columnsWith(id)} FROM ${table} LIMIT 1`,
    );
    for (const row of rows) {
      if (!isOpened(keyRing, row, nameOf(row.id))) return "unopened";
      found = "opened";
    }
  }
  return found;
}

function isOpened(keyRing: KeyRing, row: Row, name: string): boolean {
  try {
    keyRing.open(row, name);
    return true;
  } catch {
    return false;
  }
}

const columnsWith = (id: string) => `${id} AS id, encryption_key_id AS "encryptionKeyId", sealed`;

/** So many are sealed in one transaction: a reseal that is killed goes on where it was. */
const batchSize = 500;

type Row = { id: string; encryptionKeyId: string; sealed: Buffer };

async function resealSome(
  transaction: PoolClient,
  keyRing: KeyRing,
  { table, id, nameOf }: SealedTable,
): Promise<number> {
  const { rows } = await transaction.query<Row>(
    `SELECT ${columnsWith(id)} FROM ${table}
     WHERE encryption_key_id <> $1 ORDER BY ${id} LIMIT $2 FOR UPDATE SKIP LOCKED`,
    [keyRing.currentId, batchSize],
  );
  for (const row of rows) {
    const name = nameOf(row.id);
    const { encryptionKeyId, sealed } = keyRing.seal(keyRing.open(row, name), name);
    await transaction.query(
      `UPDATE ${table} SET encryption_key_id = $2, sealed = $3 WHERE ${id} = $1`,
      [row.id, encryptionKeyId, sealed],
    );
  }
  return rows.length;
}
