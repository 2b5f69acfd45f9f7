/** The operator commands' access to the database of the API. */
import { announce } from "#api/cache/invalidation.ts";
import { auditSystem } from "#api/changes/change.ts";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import {
  claimRing,
  compareRing,
  forgetRing,
  refuseForeign,
} from "#api/keys/recoverable/ring-claim.ts";
import { type AuditRecord, recordAudit } from "#kernel/audit.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { resealKeys } from "./reseal.ts";
import { createRootKeyAdmin } from "./root-keys.ts";
import { createWorkspaceAdmin } from "./workspaces.ts";

type OperatorParts = {
  database: Database;
  /** The actor's name in the audit log. */
  actor: string;
  encryptionKeys: () => readonly string[];
};

export function createOperator({ database, actor, encryptionKeys }: OperatorParts) {
  const ofKeys = (event: string, description: string): AuditRecord => ({
    ...{ event, description, actor: { type: "system", id: actor } },
    targets: [{ type: "encryptionKeys", id: "installation" }],
  });
  return {
    workspaces: createWorkspaceAdmin(database, actor),
    rootKeys: createRootKeyAdmin(database, actor),
    changeApi: (order: { id: string; change: ApiChange }) => changeApi(database, actor, order),
    createMigration: (order: MigrationOrder) => createMigration(database, actor, order),
    resealKeys: async () => {
      const keyRing = createKeyRing(encryptionKeys());
      const verdict = await compareRing(database, keyRing.marks);
      refuseForeign(verdict);
      const resealed = await resealKeys(database, keyRing);
      const what = `Sealed ${resealed.resealed} secrets again with the first encryption key`;
      await recordAudit(database, [ofKeys("encryptionKeys.reseal", what)]);
      // A command does not claim the keys of a database without marks: its settings may have other keys.
      if (verdict.state === "newer") {
        await inTransaction(database, (transaction) => claimRing(transaction, keyRing.marks));
      }
      return resealed;
    },
    forgetEncryptionKeys: () =>
      inTransaction(database, async (transaction) => {
        const what = "Let processes with other encryption keys start";
        await recordAudit(transaction, [ofKeys("encryptionKeys.forget", what)]);
        return forgetRing(transaction);
      }),
  };
}

/** The algorithms by which another program may have hashed its keys. */
const migrationAlgorithms = ["sha256", "github.com/seamapi/prefixed-api-key"] as const;

type MigrationOrder = {
  id: string;
  workspaceId: string;
  algorithm: (typeof migrationAlgorithms)[number];
};

/** Creates a migration, whose id `keys.migrateKeys` takes. Throws when the id exists. */
async function createMigration(
  database: Database,
  actor: string,
  { id, workspaceId, algorithm }: MigrationOrder,
): Promise<void> {
  await inTransaction(database, async (transaction) => {
    const { rowCount } = await transaction.query(
      `INSERT INTO key_migrations (id, workspace_id, algorithm)
       SELECT $1, id, $3 FROM workspaces WHERE id = $2 ON CONFLICT (id) DO NOTHING`,
      [id, workspaceId, algorithm],
    );
    if (rowCount === 0) {
      throw new Error(
        `there is no workspace ${workspaceId}, or there is a migration ${id} already`,
      );
    }
    const description = `Created key migration ${id} (${algorithm})`;
    const targets = [{ type: "keyMigration", id }];
    await auditSystem(transaction, actor, [
      { workspaceId, event: "keyMigration.create", description, targets },
    ]);
  });
}

/** Absent: unchanged; null: none. */
type ApiChange = Partial<{
  /** Addresses and ranges (CIDR) from which its keys may be used. */
  ipAllowlist: readonly string[] | null;
  /** A protected API cannot be deleted. */
  deleteProtection: boolean;
  /** True if `recoverable` keys may be made. */
  recoverableKeys: boolean;
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

/** Changes an API: every `api` process applies it within a second. Throws when there is no such API. */
async function changeApi(
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
