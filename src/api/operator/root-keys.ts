/** Root keys for other programs: an operator creates, lists, rotates and revokes them. */
import { randomBytes } from "node:crypto";
import type { PoolClient } from "pg";
import { insertRootKey, type Origin, type RootKey, replaceRootKey } from "#api/access/root-key.ts";
import { announce } from "#api/cache/invalidation.ts";
import { auditSystem } from "#api/changes/change.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { secretPrefixes } from "#kernel/log.ts";
import { invariant } from "#kernel/problem.ts";

export type RootKeyOrder = {
  workspaceId: string;
  name: string;
  /** `*` is all of them. */
  permissions: readonly string[];
  /** Undefined: never. */
  expiresAt: Date | undefined;
};

export type ListedRootKey = {
  id: string;
  name: string | null;
  /** The first characters of the key. */
  start: string;
  workspaceId: string;
  permissions: string[];
  /** Null: an operator made it. */
  origin: Origin | null;
  state: "active" | "disabled" | "expired" | "revoked" | "workspace_disabled";
  createdAt: Date;
  /** The last use, to the minute, some seconds late. Null: no use is known. */
  lastUsedAt: Date | null;
  /** Null: never. */
  expiresAt: Date | null;
};

/** `actor` is who is at the command line, for the audit log. */
export function createRootKeyAdmin(database: Database, actor: string) {
  return {
    /** Creates a root key, of which only the hash is stored. Throws for an unknown workspace or permission. */
    create: (order: RootKeyOrder): Promise<NewRootKey> => {
      requireKnownPermissions(order.permissions);
      const { workspaceId, name, permissions, expiresAt } = order;
      return inTransaction(database, async (transaction) => {
        const workspace = "SELECT 1 FROM workspaces WHERE id = $1 FOR SHARE";
        const { rowCount } = await transaction.query(workspace, [workspaceId]);
        if (rowCount === 0) throw new Error(`there is no workspace ${workspaceId}`);
        const made = await insertNew(transaction, {
          forWorkspaceId: workspaceId,
          name,
          permissions,
          ...(expiresAt !== undefined && { expiresAt }),
        });
        const entry = { workspaceId, event: "key.create" as const, meta: { permissions } };
        const description = `Created root key ${made.keyId}`;
        const targets = [{ type: "key", id: made.keyId, name }];
        await auditSystem(transaction, actor, [{ ...entry, description, targets }]);
        return made;
      });
    },

    /** The newest first; revoked and expired ones only with `isAll`. */
    list: async ({ isAll }: { isAll: boolean }): Promise<ListedRootKey[]> => {
      const { rows } = await database.query<ListedRootKey>(listQuery);
      return isAll ? rows : rows.filter(({ state }) => !["revoked", "expired"].includes(state));
    },

    /** Revokes a root key: every process refuses it within a second. Throws when there is no such root key. */
    revoke: (id: string): Promise<void> =>
      inTransaction(database, async (transaction) => {
        const { workspaceId, name } = await lockRootKey(transaction, id);
        await transaction.query(
          "UPDATE keys SET deleted_at = coalesce(deleted_at, now()), updated_at = now() WHERE id = $1",
          [id],
        );
        await announce(transaction, [`key:${id}`]);
        const description = `Revoked root key ${id}`;
        const targets = [{ type: "key", id, ...(name !== null && { name }) }];
        await auditSystem(transaction, actor, [
          { workspaceId, event: "key.delete", description, targets },
        ]);
      }),

    /** Makes a key with this one's permissions and expiry, and ends this one after `graceSeconds`. Throws if it has ended. */
    rotate: ({
      id,
      graceSeconds,
    }: {
      id: string;
      graceSeconds: number;
    }): Promise<RootKeyRotation> =>
      inTransaction(database, async (transaction) => {
        const old = await lockRootKey(transaction, id);
        if (old.hasEnded) throw new Error(`${id} has ended already: make a new one instead`);
        const { workspaceId, permissions, expiresAt } = old;
        const name = old.name ?? `in the place of ${id}`;
        const made = await insertNew(transaction, {
          forWorkspaceId: workspaceId,
          name,
          permissions,
          ...(expiresAt !== null && { expiresAt }),
        });
        const oldEndsAt = await replaceRootKey(transaction, { id, graceSeconds });
        const description = `Rotated root key ${id} into ${made.keyId}`;
        const targets = [
          { type: "key", id, name },
          { type: "key", id: made.keyId, name },
        ];
        const meta = { oldEndsAt };
        await auditSystem(transaction, actor, [
          { workspaceId, event: "key.reroll", description, targets, meta },
        ]);
        return { ...made, oldHash: old.hash, origin: old.origin, oldEndsAt };
      }),
  };
}

export type NewRootKey = { key: string; keyId: string };

export type RootKeyRotation = NewRootKey & {
  /** The hash of the replaced key: base64 of its SHA-256. */
  oldHash: string;
  origin: Origin | null;
  oldEndsAt: Date;
};

async function insertNew(
  transaction: PoolClient,
  fields: Omit<RootKey, "key">,
): Promise<NewRootKey> {
  const key = `${secretPrefixes.rootKey}${randomBytes(32).toString("base64url")}`;
  const keyId = await insertRootKey(transaction, { ...fields, key });
  invariant(keyId !== undefined, "a random key is unique");
  return { key, keyId };
}

type LockedKey = {
  workspaceId: string;
  name: string | null;
  hash: string;
  origin: Origin | null;
  hasEnded: boolean;
  /** The expiry that it was created with. Null: none, or not known any more. */
  expiresAt: Date | null;
  permissions: string[];
};

const permissionsOfKey = `ARRAY(
  SELECT p.slug FROM key_permissions kp JOIN permissions p ON p.id = kp.permission_id
  WHERE kp.key_id = k.id ORDER BY 1) AS permissions`;

async function lockRootKey(transaction: PoolClient, id: string): Promise<LockedKey> {
  const { rows } = await transaction.query<LockedKey>(
    `SELECT k.for_workspace_id AS "workspaceId", k.name, k.hash, k.origin, ${permissionsOfKey},
       (k.deleted_at IS NOT NULL OR NOT k.enabled OR coalesce(k.expires_at <= now(), false))
         AS "hasEnded",
       -- Of a key that was rotated already, expires_at is the end of its grace.
       CASE WHEN k.origin = 'replaced' THEN NULL ELSE k.expires_at END AS "expiresAt"
     FROM keys k WHERE k.id = $1 AND k.for_workspace_id IS NOT NULL FOR UPDATE`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) {
    throw new Error(`there is no root key ${id}: see vedette root-keys list --all`);
  }
  return row;
}

const listQuery = `
SELECT k.id, k.name, k.start, k.for_workspace_id AS "workspaceId", k.origin, ${permissionsOfKey},
  CASE
    WHEN k.deleted_at IS NOT NULL THEN 'revoked'
    WHEN k.expires_at <= now() THEN 'expired'
    WHEN NOT k.enabled THEN 'disabled'
    WHEN NOT w.enabled THEN 'workspace_disabled'
    ELSE 'active'
  END AS state,
  k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt", k.expires_at AS "expiresAt"
FROM keys k JOIN workspaces w ON w.id = k.for_workspace_id
WHERE k.for_workspace_id IS NOT NULL
ORDER BY k.created_at DESC, k.id`;

/** `<type>.<id or *>.<action>`, by type. */
const actions: Readonly<Record<string, readonly string[]>> = {
  api: [
    "create_api",
    "read_api",
    "delete_api",
    "create_key",
    "read_key",
    "update_key",
    "delete_key",
    "verify_key",
    "encrypt_key",
    "decrypt_key",
    "read_analytics",
  ],
  identity: ["create_identity", "read_identity", "update_identity", "delete_identity"],
  ratelimit: [
    "create_namespace",
    "limit",
    "read_override",
    "set_override",
    "delete_override",
    "read_analytics",
  ],
  rbac: [
    "create_permission",
    "read_permission",
    "delete_permission",
    "create_role",
    "read_role",
    "delete_role",
    "add_permission_to_key",
    "remove_permission_from_key",
    "add_permission_to_role",
    "remove_permission_from_role",
    "add_role_to_key",
  ],
};

/** Matches a URN with wildcards: `unkey:v1:<workspace>:<path>#<action>`. */
const urn = /^unkey:v1:[\w*]+:[\w*/]+#[a-z_*]+$/;

/** Throws for the first permission that no procedure requires, and names the valid ones. */
export function requireKnownPermissions(permissions: readonly string[]): void {
  for (const permission of permissions) {
    const hint = isKnown(permission) ? undefined : hintFor(permission);
    if (hint !== undefined) throw new Error(`there is no permission ${permission}; ${hint}`);
  }
}

function isKnown(permission: string): boolean {
  if (permission === "*" || urn.test(permission)) return true;
  const [type = "", id = "", action = "", ...more] = permission.split(".");
  const isNamed = Object.hasOwn(actions, type) && actions[type]?.includes(action) === true;
  return isNamed && more.length === 0 && /^(?:\*|\w+)$/.test(id);
}

function hintFor(permission: string): string {
  const type = permission.split(".", 1)[0]?.toLowerCase() ?? "";
  const known = Object.hasOwn(actions, type) ? actions[type] : undefined;
  if (known === undefined) return `types are ${Object.keys(actions).join(", ")}`;
  return `of ${type}.* or ${type}.<id> there are ${known.join(", ")}`;
}
