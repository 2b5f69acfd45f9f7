/** The audit log: who did what, when and from where, written with the change, and before a secret is shown. */
import type { ClientBase } from "pg";
import { newId } from "#api/ids.ts";
import type { Call } from "#api/procedure.ts";

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

export type AuditEntry = {
  event: AuditEvent;
  /** One sentence; never holds a secret. */
  description: string;
  targets: { type: string; id: string; name?: string }[];
  meta?: Record<string, unknown>;
};

export async function audit(
  transaction: ClientBase,
  call: Pick<Call, "workspaceId" | "actor" | "remoteIp" | "userAgent" | "requestId">,
  entries: readonly AuditEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ id: newId("auditEvent"), ...entry }));
  await transaction.query(
    `INSERT INTO audit_log (id, workspace_id, event, description, actor_type, actor_id,
       remote_ip, user_agent, request_id, targets, meta)
     SELECT id, $1, event, description, 'key', $2, $3, $4, $5, targets, meta
     FROM jsonb_to_recordset($6::jsonb)
       AS row(id text, event text, description text, targets jsonb, meta jsonb)`,
    [
      call.workspaceId,
      call.actor.id,
      call.remoteIp,
      call.userAgent,
      call.requestId,
      JSON.stringify(rows),
    ],
  );
}

/** Writes entries about actions of the program itself, each in the workspace that it concerns. */
export async function auditSystem(
  transaction: ClientBase,
  actorId: string,
  entries: readonly (AuditEntry & { workspaceId: string })[],
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ workspaceId, ...entry }) => ({
    id: newId("auditEvent"),
    workspace_id: workspaceId,
    ...entry,
  }));
  await transaction.query(
    `INSERT INTO audit_log (id, workspace_id, event, description, actor_type, actor_id, targets, meta)
     SELECT id, workspace_id, event, description, 'system', $1, targets, meta
     FROM jsonb_to_recordset($2::jsonb) AS row(
       id text, workspace_id text, event text, description text, targets jsonb, meta jsonb)`,
    [actorId, JSON.stringify(rows)],
  );
}
