/** The operator commands' access to the database of the API. */
import { z } from "zod";
import { announce } from "#api/cache/invalidation.ts";
import { auditSystem } from "#api/changes/audit.ts";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import {
  claimRing,
  compareRing,
  forgetRing,
  refuseForeign,
} from "#api/keys/recoverable/ring-claim.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { resealKeys } from "./reseal.ts";
import { createRootKeyAdmin } from "./root-keys.ts";
import { createWorkspaceAdmin } from "./workspaces.ts";

/** Absent: all. */
type AuditFilter = {
  workspaceId?: string | undefined;
  /** `key.decrypt`, or `key.*` for all events with this prefix. */
  event?: string | undefined;
  actorId?: string | undefined;
  /** The id of one of the entry's targets. */
  targetId?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
};

const Targets = z.array(
  z.object({ type: z.string(), id: z.string(), name: z.string().nullish() }).loose(),
);

const Row = z.object({
  id: z.string(),
  time: z.date(),
  /** Time to the microsecond, for the cursor. */
  exactTime: z.string(),
  workspaceId: z.string(),
  event: z.string(),
  description: z.string(),
  actorType: z.string(),
  actorId: z.string(),
  remoteIp: z.string().nullable(),
  userAgent: z.string().nullable(),
  requestId: z.string().nullable(),
  targets: Targets,
  meta: z.record(z.string(), z.unknown()).nullable(),
});
type AuditRow = Omit<z.infer<typeof Row>, "exactTime">;

type AuditPage = { entries: AuditRow[]; cursor: string | undefined };

/** The audit log as an operator reads it: over all workspaces, newest first, page by page. */
export function createAuditReader(database: Database) {
  return {
    /** `cursor`: the cursor of the previous page; undefined: the first page. Throws when it is invalid. */
    list: async (
      filter: AuditFilter,
      page: { limit: number; cursor?: string | undefined },
    ): Promise<AuditPage> => {
      const after = page.cursor === undefined ? undefined : readCursor(page.cursor);
      const { rows } = await database.query(listQuery, [
        ...valuesOf(filter),
        after?.time,
        after?.id,
        page.limit + 1,
      ]);
      const found = rows.map((row) => Row.parse(row));
      const last = found.length > page.limit ? found[page.limit - 1] : undefined;
      return {
        entries: found.slice(0, page.limit).map(({ exactTime: _, ...entry }) => entry),
        cursor: last && writeCursor({ time: last.exactTime, id: last.id }),
      };
    },
  };
}

/** The first parameters of `listQuery`; undefined becomes null. */
function valuesOf({ workspaceId, event, actorId, targetId, since, until }: AuditFilter): unknown[] {
  const target = targetId === undefined ? undefined : JSON.stringify([{ id: targetId }]);
  return [workspaceId, ...eventsOf(event), actorId, target, since, until];
}

/** The exact event or the prefix; the other one is undefined. */
function eventsOf(event: string | undefined): (string | undefined)[] {
  return event?.endsWith("*") === true ? [undefined, event.slice(0, -1)] : [event, undefined];
}

/** The format of `exactTime`: a valid date and time in UTC, to the microsecond. */
const ExactTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$/)
  .refine((time) => z.iso.datetime().safeParse(`${time.slice(0, -3).replace(" ", "T")}Z`).success);

const Cursor = z.tuple([ExactTime, z.string().regex(/^\w{1,64}$/)]);

function writeCursor({ time, id }: { time: string; id: string }): string {
  return Buffer.from(JSON.stringify([time, id])).toString("base64url");
}

function readCursor(text: string): { time: string; id: string } {
  try {
    const [time, id] = Cursor.parse(JSON.parse(Buffer.from(text, "base64url").toString("utf8")));
    return { time, id };
  } catch {
    throw new Error(
      "this is not a cursor of this list: use the one at the end of the previous page",
    );
  }
}

const listQuery = `
SELECT id, time, (time AT TIME ZONE 'UTC')::text || '+00' AS "exactTime",
  workspace_id AS "workspaceId", event, description, actor_type AS "actorType",
  actor_id AS "actorId", remote_ip AS "remoteIp", user_agent AS "userAgent",
  request_id AS "requestId", targets, meta
FROM audit_log
WHERE ($1::text IS NULL OR workspace_id = $1)
  AND ($2::text IS NULL OR event = $2)
  AND ($3::text IS NULL OR starts_with(event, $3))
  AND ($4::text IS NULL OR actor_id = $4)
  AND ($5::jsonb IS NULL OR targets @> $5)
  AND ($6::timestamptz IS NULL OR time >= $6)
  AND ($7::timestamptz IS NULL OR time < $7)
  AND ($8::timestamptz IS NULL OR (time, id) < ($8, $9))
ORDER BY time DESC, id DESC
LIMIT $10`;

type OperatorParts = {
  database: Database;
  /** The actor's name in the audit log. */
  actor: string;
  encryptionKeys: () => readonly string[];
};

export function createOperator({ database, actor, encryptionKeys }: OperatorParts) {
  return {
    workspaces: createWorkspaceAdmin(database, actor),
    rootKeys: createRootKeyAdmin(database, actor),
    audit: createAuditReader(database),
    changeApi: (order: { id: string; change: ApiChange }) => changeApi(database, actor, order),
    createMigration: (order: MigrationOrder) => createMigration(database, actor, order),
    resealKeys: async () => {
      const keyRing = createKeyRing(encryptionKeys());
      const verdict = await compareRing(database, keyRing.marks);
      refuseForeign(verdict);
      const resealed = await resealKeys(database, keyRing);
      // A command does not claim the keys of a database without marks: its settings may have other keys.
      if (verdict.state === "newer") {
        await inTransaction(database, (transaction) => claimRing(transaction, keyRing.marks));
      }
      return resealed;
    },
    forgetEncryptionKeys: () => forgetRing(database),
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
