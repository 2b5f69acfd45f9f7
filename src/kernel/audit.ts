/** Writes to the audit log: who did what, to what, when and from where. Rows are never changed after that (src/audit). */
import { createHash, randomUUID } from "node:crypto";
import type { ClientBase } from "pg";
import { cleanText, toStorable, toStorableJson } from "./text.ts";

export type AuditRecord = {
  /** Its subject and what was done, for example `rollout.started`. */
  event: string;
  /** One sentence; never holds a secret. */
  description: string;
  /** `key`: a root key; `operator`: a name of the gateway; `system`: the program, or who is at its command line. */
  actor: { type: "key" | "operator" | "system"; id: string };
  targets: readonly { type: string; id: string; name?: string }[];
  meta?: Record<string, unknown> | undefined;
  /** Absent: it concerns no workspace of the API. */
  workspaceId?: string;
  remoteIp?: string | undefined;
  userAgent?: string;
  requestId?: string | undefined;
  /** Unix ms; absent: now. */
  atMs?: number;
  /** Rows of one time are in this order, such as the transitions of a rollout in one millisecond. Absent: in any. */
  order?: number;
  /** The same for each repetition of one step, which writes one row. Absent: each call writes one. */
  key?: string;
};

const longestDescription = 1_000;

/** `queries`: the transaction of the change; a step that is repeated until it succeeds may give the pool, and a `key`. */
export async function recordAudit(
  queries: Pick<ClientBase, "query">,
  records: readonly AuditRecord[],
): Promise<void> {
  if (records.length === 0) return;
  await queries.query(insert, [toStorableJson(records.map(toRow))]);
}

/** Names an operator as the gateway has signed it; absent: the program itself has done it. */
export function actorOf(by: string | null | undefined): AuditRecord["actor"] {
  return by == null ? { type: "system", id: "vedette" } : { type: "operator", id: by };
}

function toRow(record: AuditRecord) {
  const { event, description, actor, targets, meta = null } = record;
  return {
    id: idOf(record),
    workspace_id: record.workspaceId ?? null,
    time: record.atMs === undefined ? null : new Date(record.atMs).toISOString(),
    event,
    description: cleanText(description, longestDescription),
    actor_type: actor.type,
    actor_id: cleanText(actor.id, longestDescription),
    remote_ip: record.remoteIp ?? null,
    user_agent: record.userAgent === undefined ? null : toStorable(record.userAgent),
    request_id: record.requestId ?? null,
    targets,
    meta,
  };
}

/** Rows of one time are read and sealed by their ids. */
function idOf({ key = randomUUID(), order }: AuditRecord): string {
  const place = order === undefined ? "" : order.toString(16).padStart(8, "0");
  const digest = createHash("sha256").update(key).digest("hex");
  return `log_${`${place}${digest}`.slice(0, 24)}`;
}

const insert = `
  INSERT INTO audit_log (id, workspace_id, time, event, description, actor_type, actor_id,
    remote_ip, user_agent, request_id, targets, meta)
  SELECT id, workspace_id, coalesce(time, now()), event, description, actor_type, actor_id,
    remote_ip, user_agent, request_id, targets, meta
  FROM jsonb_to_recordset($1::jsonb) AS row(id text, workspace_id text, time timestamptz, event text, description text,
    actor_type text, actor_id text, remote_ip text, user_agent text, request_id text, targets jsonb, meta jsonb)
  ON CONFLICT (id) DO NOTHING`;

/** Somebody has signed in or out, has called for a change, or was refused. */
export type AccessEvent = {
  event: "session.start" | "session.end" | "session.refused" | "call" | "call.refused";
  /** Absent: nobody knows. */
  actor?: string | undefined;
  remote?: string | undefined;
  requestId?: string | undefined;
  /** How it was done, or the handler that was called: `console`, `vedette.v1.Definitions/singleton/Apply`. */
  what: string;
  meta?: Record<string, unknown>;
};

/** Resolves once it is recorded, or after two seconds: operators control a rollout also while Postgres is away. */
export type RecordAccess = (event: AccessEvent) => Promise<void>;
