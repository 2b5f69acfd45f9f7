/** Rows of the public API's tables, for tests of what works on the tables themselves. */
import { randomUUID } from "node:crypto";
import type { Database } from "#kernel/database.ts";

const testKeySpace = { id: "ks_test", workspaceId: "ws_default" };

export async function insertKeySpace(database: Database, space = testKeySpace): Promise<void> {
  await database.query("INSERT INTO key_spaces (id, workspace_id) VALUES ($1, $2)", [
    space.id,
    space.workspaceId,
  ]);
}

type KeyRow = {
  id: string;
  remaining: number | null;
  refill_amount: number | null;
  refill_day: number | null;
  last_refill_at: Date | null;
  deleted_at: Date | null;
};

/** A key of `testKeySpace`, its columns over unlimited ones. */
export async function insertKey(database: Database, row: Partial<KeyRow> = {}): Promise<string> {
  const columns = {
    id: `key_${randomUUID().replaceAll("-", "")}`,
    workspace_id: testKeySpace.workspaceId,
    key_space_id: testKeySpace.id,
    hash: randomUUID(),
    start: "test",
    ...row,
  };
  const names = Object.keys(columns);
  const places = names.map((_, i) => `$${i + 1}`);
  await database.query(
    `INSERT INTO keys (${names.join(", ")}) VALUES (${places.join(", ")})`,
    Object.values(columns),
  );
  return columns.id;
}
