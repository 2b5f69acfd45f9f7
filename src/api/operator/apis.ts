/** Settings of an API and its keys that only an operator can change: the contract has no procedure for them. */
import { announce } from "#api/cache/invalidation.ts";
import { auditSystem } from "#api/changes/audit.ts";
import { type Database, inTransaction } from "#kernel/database.ts";

/** Absent: unchanged; null: none. */
export type ApiChange = Partial<{
  /** Addresses and ranges (CIDR) from which its keys may be used. */
  ipAllowlist: readonly string[] | null;
  /** A protected API cannot be deleted. */
  deleteProtection: boolean;
  /** Whether `recoverable` keys may be made. */
  recoverableKeys: boolean;
  /** The prefix of new keys that are created without one. */
  defaultPrefix: string | null;
  /** The length of new keys that are created without one; 16 to 255. */
  defaultBytes: number | null;
}>;

const apiColumns = { ipAllowlist: "ip_allowlist", deleteProtection: "delete_protection" } as const;
const spaceColumns = {
  recoverableKeys: "store_encrypted_keys",
  defaultPrefix: "default_prefix",
  defaultBytes: "default_bytes",
} as const;

/** Every `api` process goes by it within a second. Throws when there is no such API. */
export async function changeApi(
  database: Database,
  actor: string,
  order: { id: string; change: ApiChange },
): Promise<void> {
  const { id, change } = order;
  await inTransaction(database, async (transaction) => {
    const { rows } = await transaction.query<{ space: string; workspace: string }>(
      `SELECT key_space_id AS space, workspace_id AS workspace FROM apis
       WHERE id = $1 AND deleted_at IS NULL FOR UPDATE`,
      [id],
    );
    const [api] = rows;
    if (api === undefined) throw new Error(`there is no API ${id}`);
    for (const [table, columns, key] of [
      ["apis", apiColumns, id],
      ["key_spaces", spaceColumns, api.space],
    ] as const) {
      const statement = updateOf(table, columns, change);
      if (statement !== undefined)
        await transaction.query(statement.text, [key, ...statement.values]);
    }
    await auditSystem(transaction, actor, [
      {
        workspaceId: api.workspace,
        event: "api.update",
        description: `Changed API ${id}`,
        targets: [{ type: "api", id }],
        meta: { ...change },
      },
    ]);
    await announce(transaction, [`keySpace:${api.space}`]);
  });
}

function updateOf(
  table: string,
  columns: Record<string, string>,
  change: ApiChange,
): { text: string; values: unknown[] } | undefined {
  const set = Object.entries(change).filter(([name]) => name in columns);
  if (set.length === 0) return undefined;
  const assignments = set.map(([name], index) => `${columns[name]} = $${index + 2}`);
  return {
    text: `UPDATE ${table} SET ${assignments.join(", ")} WHERE id = $1`,
    values: set.map(([, value]) => value),
  };
}
