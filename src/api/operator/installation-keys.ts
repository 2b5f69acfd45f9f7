/** The root keys that an installation creates for itself: with all permissions, for its gateways, for its checks. */
import type { PoolClient } from "pg";
import {
  defaultWorkspaceId,
  insertRootKey,
  type Origin,
  replaceRootKey,
} from "#api/access/root-key.ts";
import { announce } from "#api/cache/invalidation.ts";
import { hashKey } from "#api/cache/key-record.ts";
import { auditSystem } from "#api/changes/change.ts";
import { newId } from "#api/ids.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { invariant } from "#kernel/problem.ts";

export type OwnKey = {
  key: string;
  origin: "setting" | "generated" | "sentinels" | "checks";
  /** Other processes' keys of this kind: "end" them, "yield" (do not register), or "join" them. */
  others: "end" | "yield" | "join";
  /** The keys that it replaces remain valid for so long. */
  graceSeconds: number;
};

/**
 * The state of an own key. `ended`: it was replaced, revoked or has expired, which a start never undoes;
 * `replaced`: by another one, and it remains valid until `endsAt`. `taken`: another process has registered
 * its own, and this one is not registered.
 */
export type OwnKeyState =
  | { state: "current"; keyId: string; replaced: readonly string[] }
  | { state: "replaced"; keyId: string; endsAt: Date | null }
  | { state: "ended"; keyId: string }
  | { state: "taken"; keyId: string };

/** A root key of an installation, as it is stored. */
export type OwnRow = {
  id: string;
  isThisKey: boolean;
  isRoot: boolean;
  origin: Origin | null;
  hasEnded: boolean;
  endsAt: Date | null;
};

const kinds = {
  setting: { name: "of this installation", permissions: ["*"], also: ["setting", "generated"] },
  generated: { name: "of this installation", permissions: ["*"], also: ["setting", "generated"] },
  sentinels: { name: "of the local fleet", permissions: ["api.*.verify_key"], also: ["sentinels"] },
  checks: { name: "of the checks", permissions: ["api.*.verify_key"], also: ["checks"] },
} as const;

/** Registers an own root key, unless it has ended, and ends those that it replaces; one process after the other. */
export async function ensureOwnKey(database: Database, own: OwnKey): Promise<OwnKeyState> {
  return inTransaction(database, async (transaction) => {
    await transaction.query("SELECT pg_advisory_xact_lock($1)", [lockKey]);
    const step = planOwnKey(await readRows(transaction, own), own);
    if (step.state !== "current") return step;
    const keyId = step.keyId ?? (await insert(transaction, own));
    await claim(transaction, keyId, own);
    for (const id of step.ends) {
      await replaceRootKey(transaction, { id, graceSeconds: own.graceSeconds });
    }
    await recordReplaced(transaction, keyId, step.ends);
    return { state: "current", keyId, replaced: step.ends };
  });
}

/** An advisory lock's number; nothing else uses it. */
const lockKey = 4_707_015;

type Step =
  | Exclude<OwnKeyState, { state: "current" }>
  /** `keyId` undefined: it is to be inserted. */
  | { state: "current"; keyId: string | undefined; ends: string[] };

/** Decides the step for an own key; `rows` are its row and those of the same kind. */
export function planOwnKey(rows: readonly OwnRow[], own: Pick<OwnKey, "others">): Step {
  const mine = rows.find((row) => row.isThisKey);
  const others = rows.filter((row) => !row.isThisKey && !row.hasEnded && row.origin !== "replaced");
  if (mine !== undefined) {
    const { id: keyId, endsAt } = mine;
    if (mine.hasEnded || !mine.isRoot) return { state: "ended", keyId };
    if (mine.origin === "replaced") return { state: "replaced", keyId, endsAt };
  }
  const first = others[0];
  if (mine === undefined && own.others === "yield" && first !== undefined) {
    return { state: "taken", keyId: first.id };
  }
  const ends = own.others === "end" ? others.map(({ id }) => id) : [];
  return { state: "current", keyId: mine?.id, ends };
}

async function readRows(transaction: PoolClient, own: OwnKey): Promise<OwnRow[]> {
  const { rows } = await transaction.query<OwnRow>(
    `SELECT id, hash = $1 AS "isThisKey", for_workspace_id IS NOT NULL AS "isRoot", origin,
       (deleted_at IS NOT NULL OR NOT enabled OR coalesce(expires_at <= now(), false)) AS "hasEnded",
       expires_at AS "endsAt"
     FROM keys
     WHERE hash = $1
        OR (for_workspace_id IS NOT NULL AND deleted_at IS NULL
            AND origin = ANY ($2))
     ORDER BY created_at, id`,
    [hashKey(own.key), kinds[own.origin].also],
  );
  return rows;
}

async function insert(transaction: PoolClient, own: OwnKey): Promise<string> {
  const { key, origin } = own;
  const { name, permissions: always } = kinds[origin];
  const forWorkspaceId = defaultWorkspaceId;
  const permissions = origin === "checks" ? [...always, await maySpend(transaction)] : always;
  const rootKey = { key, forWorkspaceId, name, permissions, origin };
  const id = await insertRootKey(transaction, rootKey);
  invariant(id !== undefined, "a key that is not stored yet can be inserted");
  return id;
}

/** The permission to count against the limits of the standard check, whose namespace it creates, and no others. */
async function maySpend(transaction: PoolClient): Promise<string> {
  const { rows } = await transaction.query<{ id: string }>(
    `INSERT INTO ratelimit_namespaces AS old (id, workspace_id, name)
     VALUES ($1, $2, 'synthetic-checks')
     ON CONFLICT (workspace_id, name) DO UPDATE SET name = old.name RETURNING id`,
    [newId("ratelimitNamespace"), defaultWorkspaceId],
  );
  const [{ id }] = rows as [{ id: string }];
  await announce(transaction, [`namespace:${id}`]);
  return `ratelimit.${id}.limit`;
}

/** Makes the key the installation's own, even if an operator created it. */
async function claim(transaction: PoolClient, keyId: string, { origin }: OwnKey): Promise<void> {
  await transaction.query("UPDATE keys SET origin = $2 WHERE id = $1", [keyId, origin]);
}

async function recordReplaced(
  transaction: PoolClient,
  keyId: string,
  ends: readonly string[],
): Promise<void> {
  const entries = ends.map((id) => ({
    workspaceId: defaultWorkspaceId,
    event: "key.update" as const,
    description: `Root key ${id} was replaced by ${keyId} of the settings`,
    targets: [
      { type: "key", id },
      { type: "key", id: keyId },
    ],
  }));
  await auditSystem(transaction, "start", entries);
}
