/** Root keys: what the operator and other programs call the API with. */
import type { PoolClient } from "pg";
import { type Database, inTransaction } from "#kernel/database.ts";
import { newId } from "./ids.ts";
import { hashKey } from "./keys/key-record.ts";

/** The workspace that a program of its own has. */
const defaultWorkspaceId = "ws_default";

/** Where root keys and their permissions live. */
const operator = { workspaceId: "ws_operator", keySpaceId: "ks_root" };

export type RootKey = {
  key: string;
  forWorkspaceId: string;
  name: string;
  /** `*` is all of them. */
  permissions: readonly string[];
  expiresAt?: Date;
};

/** Makes `rootKey` usable with all permissions, unless it is known already. */
export async function ensureRootKey(database: Database, rootKey: string): Promise<void> {
  await inTransaction(database, (transaction) =>
    insertRootKey(transaction, {
      key: rootKey,
      forWorkspaceId: defaultWorkspaceId,
      name: "of this installation",
      permissions: ["*"],
    }),
  );
}

/** Answers the new key's id, or undefined when the key is there already. */
export async function insertRootKey(
  transaction: PoolClient,
  rootKey: RootKey,
): Promise<string | undefined> {
  const { rows } = await transaction.query<{ id: string }>(
    `INSERT INTO keys (id, workspace_id, key_space_id, for_workspace_id, hash, start, name, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (hash) DO NOTHING RETURNING id`,
    [
      newId("key"),
      operator.workspaceId,
      operator.keySpaceId,
      rootKey.forWorkspaceId,
      hashKey(rootKey.key),
      rootKey.key.slice(0, 12),
      rootKey.name,
      rootKey.expiresAt ?? null,
    ],
  );
  const id = rows[0]?.id;
  if (id !== undefined) await grant(transaction, id, rootKey.permissions);
  return id;
}

async function grant(
  transaction: PoolClient,
  keyId: string,
  permissions: readonly string[],
): Promise<void> {
  const ids = permissions.map(() => newId("permission"));
  await transaction.query(
    `INSERT INTO permissions (id, workspace_id, name, slug)
     SELECT id, $1, slug, slug FROM unnest($2::text[], $3::text[]) AS new (id, slug)
     ON CONFLICT (workspace_id, lower(slug)) DO NOTHING`,
    [operator.workspaceId, ids, permissions],
  );
  await transaction.query(
    `INSERT INTO key_permissions (key_id, permission_id)
     SELECT $1, id FROM permissions
     WHERE workspace_id = $2 AND lower(slug) = ANY (SELECT lower(unnest($3::text[])))`,
    [keyId, operator.workspaceId, permissions],
  );
}
