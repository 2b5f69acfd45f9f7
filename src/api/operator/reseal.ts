/** Reseals stored secrets by the current encryption key after a rotation. */
import { setTimeout as delay } from "node:timers/promises";
import type { PoolClient } from "pg";
import type { KeyRing } from "#api/keys/recoverable/key-ring.ts";
import { accountName, certificateName } from "#api/tls/certificate-store.ts";
import { type Database, inTransaction } from "#kernel/database.ts";

/** A table with sealed texts; `nameOf` returns the name that is authenticated with a row's text. */
type SealedTable = { table: string; id: string; nameOf: (id: string) => string };

const sealedTables: readonly SealedTable[] = [
  { table: "encrypted_keys", id: "key_id", nameOf: (id) => id },
  { table: "certificates", id: "names", nameOf: certificateName },
  { table: "acme_accounts", id: "directory_url", nameOf: accountName },
];

type ResealCount = {
  resealed: number;
  /** Left unchanged, because no key of the ring opens them. */
  unopened: number;
};

/** Limit of the wait for rows that other transactions have locked. */
const defaultLockTimeoutMs = 30_000;

/** Reseals by the ring's first key what an older one sealed. Throws when rows remain locked for too long. */
export async function resealKeys(
  database: Database,
  keyRing: KeyRing,
  lockTimeoutMs = defaultLockTimeoutMs,
): Promise<ResealCount> {
  const sum: ResealCount = { resealed: 0, unopened: 0 };
  const untilMs = performance.now() + lockTimeoutMs;
  for (const sealed of sealedTables) {
    let pass = await resealTable(database, keyRing, sealed);
    sum.resealed += pass.resealed;
    // Rows that were locked are tried again in the next pass.
    while (pass.resealed > 0 || (await countOthers(database, keyRing, sealed)) > pass.unopened) {
      if (pass.resealed === 0) await pause(sealed, untilMs);
      pass = await resealTable(database, keyRing, sealed);
      sum.resealed += pass.resealed;
    }
    sum.unopened += pass.unopened;
  }
  return sum;
}

async function pause({ table }: SealedTable, untilMs: number): Promise<void> {
  if (performance.now() < untilMs) return delay(200);
  throw new Error(
    `rows of ${table} are locked by another transaction: run this again to reseal them`,
  );
}

/** Counts the rows that were sealed by another key than the ring's first. */
async function countOthers(
  database: Database,
  keyRing: KeyRing,
  { table }: SealedTable,
): Promise<number> {
  const { rows } = await database.query<{ n: string }>(
    `SELECT count(*) AS n FROM ${table} WHERE encryption_key_id <> $1`,
    [keyRing.currentId],
  );
  return Number(rows[0]?.n);
}

/** One pass over a table, from its first row to its last. */
async function resealTable(
  database: Database,
  keyRing: KeyRing,
  sealed: SealedTable,
): Promise<ResealCount> {
  const sum: ResealCount = { resealed: 0, unopened: 0 };
  const resealFrom = (from: string) =>
    inTransaction(database, (transaction) => resealSome(transaction, keyRing, { ...sealed, from }));
  let last: string | undefined = "";
  while (last !== undefined) {
    const some = await resealFrom(last);
    sum.resealed += some.resealed;
    sum.unopened += some.unopened;
    last = some.last;
  }
  return sum;
}

/** Finds out if there are sealed texts, and if the ring opens them, by one text of each table. */
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

/** The first of these keys by which something is sealed. */
export async function findSealing(
  transaction: PoolClient,
  ids: readonly string[],
): Promise<string | undefined> {
  const { rows } = await transaction.query<{ id: string }>(
    `SELECT id FROM unnest($1::text[]) AS id WHERE ${sealedTables
      .map(({ table }) => `EXISTS (SELECT FROM ${table} WHERE encryption_key_id = id)`)
      .join(" OR ")} LIMIT 1`,
    [ids],
  );
  return rows[0]?.id;
}

function isOpened(keyRing: KeyRing, row: Row, name: string): boolean {
  return keyRing.tryOpen(row, name) !== undefined;
}

const columnsWith = (id: string) => `${id} AS id, encryption_key_id AS "encryptionKeyId", sealed`;

/** Rows per transaction: a reseal that is killed continues from its last commit. */
const batchSize = 500;

type Row = { id: string; encryptionKeyId: string; sealed: Buffer };

/** `last`: the id after which the next batch begins; undefined: there are no more. */
async function resealSome(
  transaction: PoolClient,
  keyRing: KeyRing,
  { table, id, nameOf, from }: SealedTable & { from: string },
): Promise<ResealCount & { last: string | undefined }> {
  const { rows } = await transaction.query<Row>(
    `SELECT ${columnsWith(id)} FROM ${table}
     WHERE encryption_key_id <> $1 AND ${id} > $2 ORDER BY ${id} LIMIT $3 FOR UPDATE SKIP LOCKED`,
    [keyRing.currentId, from, batchSize],
  );
  let resealed = 0;
  for (const row of rows) {
    const name = nameOf(row.id);
    const text = keyRing.tryOpen(row, name);
    if (text === undefined) continue;
    const { encryptionKeyId, sealed } = keyRing.seal(text, name);
    await transaction.query(
      `UPDATE ${table} SET encryption_key_id = $2, sealed = $3 WHERE ${id} = $1`,
      [row.id, encryptionKeyId, sealed],
    );
    resealed += 1;
  }
  return { resealed, unopened: rows.length - resealed, last: rows.at(-1)?.id };
}
