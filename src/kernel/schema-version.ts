/** Compares a database's schema with the migrations of this version, which go forward only. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ClientBase, Pool } from "pg";
import { someOf } from "#kernel/nearest.ts";

export const migrationsDir = fileURLToPath(new URL("../../migrations", import.meta.url));

export const migrationsTable = "schema_migrations";

/** Names without `.sql`. `unknown`: run by a newer version; `missing`: not run yet. */
export function compareSchema(of: { run: readonly string[]; known: readonly string[] }) {
  const run = new Set(of.run);
  const known = new Set(of.known);
  return {
    unknown: of.run.filter((name) => !known.has(name)),
    missing: of.known.filter((name) => !run.has(name)),
  };
}

/**
 * The names of the migrations that have not run yet. Throws an error that says what to do when a newer version has
 * migrated the database.
 */
export async function readMissingMigrations(
  connection: ClientBase | Pool,
  dir = migrationsDir,
): Promise<readonly string[]> {
  const { unknown, missing } = await readSchema(connection, dir);
  if (unknown.length === 0) return missing;
  throw new Error(
    `the database was migrated by a newer Vedette (${someOf(unknown, 3)}), which this one does not know: ` +
      "start that version, or restore the backup from before its start",
  );
}

/** Like `readMissingMigrations`; also throws when there are any. */
export async function requireKnownSchema(connection: ClientBase | Pool): Promise<void> {
  const missing = await readMissingMigrations(connection);
  if (missing.length === 0) return;
  throw new Error(
    `the database is that of an older Vedette (${someOf(missing, 3)} not run): start this version first`,
  );
}

async function readSchema(connection: ClientBase | Pool, dir: string) {
  const known = readdirSync(dir)
    .filter((name) => name.endsWith(".sql"))
    .map((name) => name.slice(0, -".sql".length))
    .sort();
  const { rows: tables } = await connection.query<{ there: boolean }>(
    "SELECT to_regclass($1) IS NOT NULL AS there",
    [migrationsTable],
  );
  if (tables[0]?.there !== true) return compareSchema({ run: [], known });
  const { rows } = await connection.query<{ name: string }>(
    `SELECT name FROM ${migrationsTable} ORDER BY id`,
  );
  return compareSchema({ run: rows.map(({ name }) => name), known });
}
