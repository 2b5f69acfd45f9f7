/** A change: its rows, its audit entries and its invalidations commit together or not at all. */
import type { ClientBase, PoolClient } from "pg";
import type { Invalidations, Stale } from "#api/cache/invalidation.ts";
import type { Call } from "#api/procedure.ts";
import { type AuditRecord, recordAudit } from "#kernel/audit.ts";
import { type Database, inTransaction } from "#kernel/database.ts";

type AuditEvent =
  | `api.${"create" | "update" | "delete"}`
  | "keyMigration.create"
  | `key.${"create" | "update" | "delete" | "reroll" | "decrypt"}`
  | `identity.${"create" | "update" | "delete"}`
  | `ratelimit.${"create" | "update" | "delete" | "set_override" | "delete_override"}`
  | `ratelimitNamespace.${"create" | "delete"}`
  | `permission.${"create" | "delete"}`
  | `workspace.${"create" | "update"}`
  | `role.${"create" | "update" | "delete"}`
  | `authorization.${"connect" | "disconnect"}_${"role_and_key" | "permission_and_key" | "role_and_permission"}`;

export type AuditEntry = Pick<AuditRecord, "description" | "targets" | "meta"> & {
  event: AuditEvent;
};

export type Change = {
  transaction: PoolClient;
  record: (entry: AuditEntry) => void;
  /** Names what the caches of all processes must forget once the change is committed. */
  stale: (...tags: Stale[]) => void;
};

/** `work` may run more than once: what it does outside of the transaction must be repeatable. */
export type MakeChange = <Result>(
  call: Call,
  work: (change: Change) => Promise<Result>,
) => Promise<Result>;

/** SQLSTATEs of concurrent changes that a retry does not meet again: deadlock, serialization, a deleted row. */
const transientCodes = new Set(["40P01", "40001", "23503"]);
const maxTries = 4;

/** Resolves when the change is committed and this process no longer answers by older data. */
export function createMakeChange(parts: {
  database: Database;
  invalidations: Invalidations;
}): MakeChange {
  return async (call, work) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await makeOnce(parts, call, work);
      } catch (error) {
        const { code } = error as { code?: string };
        if (!transientCodes.has(code ?? "") || tries === maxTries) throw error;
      }
    }
  };
}

async function makeOnce<Result>(
  { database, invalidations }: { database: Database; invalidations: Invalidations },
  call: Call,
  work: (change: Change) => Promise<Result>,
): Promise<Result> {
  const entries: AuditEntry[] = [];
  const stale: Stale[] = [];
  const result = await inTransaction(database, async (transaction) => {
    const done = await work({
      transaction,
      record: (entry) => entries.push(entry),
      stale: (...tags) => stale.push(...tags),
    });
    await recordAudit(
      transaction,
      entries.map((entry) => ({ ...entry, ...originOf(call) })),
    );
    await invalidations.announce(transaction, stale);
    return done;
  });
  invalidations.apply(stale);
  return result;
}

function originOf({ workspaceId, actor, remoteIp, userAgent, requestId }: Call) {
  const type = "key" as const;
  return { workspaceId, actor: { type, id: actor.id }, remoteIp, userAgent, requestId };
}

/** Writes entries about actions of the program itself, each in the workspace that it concerns. */
export function auditSystem(
  transaction: ClientBase,
  actorId: string,
  entries: readonly (AuditEntry & { workspaceId: string })[],
): Promise<void> {
  const actor = { type: "system" as const, id: actorId };
  return recordAudit(
    transaction,
    entries.map((entry) => ({ ...entry, actor })),
  );
}
