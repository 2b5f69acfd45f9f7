/** Root keys that an operator makes for other programs. */
import { randomBytes } from "node:crypto";
import { auditSystem } from "#api/audit.ts";
import { insertRootKey } from "#api/root-key.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { invariant } from "#kernel/invariant.ts";
import { requireKnownPermissions } from "./root-permissions.ts";

export type RootKeyOrder = {
  workspaceId: string;
  name: string;
  /** `*` is all of them. */
  permissions: readonly string[];
  /** Undefined: never. */
  expiresAt: Date | undefined;
};

/**
 * Makes a root key. The answer holds the key itself, which is stored nowhere: only its hash is.
 * Throws when there is no such workspace or permission.
 */
export async function createRootKey(
  database: Database,
  actor: string,
  order: RootKeyOrder,
): Promise<{ key: string; keyId: string }> {
  const { workspaceId, name, permissions, expiresAt } = order;
  requireKnownPermissions(permissions);
  const key = `vedette_root_${randomBytes(32).toString("base64url")}`;
  const keyId = await inTransaction(database, async (transaction) => {
    const workspace = "SELECT 1 FROM workspaces WHERE id = $1 FOR SHARE";
    const { rowCount } = await transaction.query(workspace, [workspaceId]);
    if (rowCount === 0) throw new Error(`there is no workspace ${workspaceId}`);
    const id = await insertRootKey(transaction, {
      key,
      forWorkspaceId: workspaceId,
      name,
      permissions,
      ...(expiresAt !== undefined && { expiresAt }),
    });
    invariant(id !== undefined, "a random key is a new one");
    const entry = { workspaceId, event: "key.create" as const, meta: { permissions } };
    const description = `Created root key ${id}`;
    const targets = [{ type: "key", id, name }];
    await auditSystem(transaction, actor, [{ ...entry, description, targets }]);
    return id;
  });
  return { key, keyId };
}
