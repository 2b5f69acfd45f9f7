/** The table `key_ratelimits`: the limits that a key or an identity carries, one of each name. */
import type { AuditEntry } from "./audit.ts";
import type { Change } from "./change.ts";
import { invalidInput } from "./error.ts";
import { newId } from "./ids.ts";
import { toInt64 } from "./int64.ts";
import type { Call } from "./procedure.ts";
import type { RatelimitRequest, RatelimitResponse } from "./schema.ts";

export type LimitOwner = { column: "key_id" | "identity_id"; id: string };

/** The limits of a row as JSON; `owner` is what a column of `key_ratelimits` (as `r`) equals. */
export const limitsOf = (owner: string) => `
  (SELECT coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name, 'limit', r."limit",
     'duration', r.duration_ms, 'autoApply', r.auto_apply) ORDER BY r.name), '[]')
   FROM key_ratelimits r WHERE ${owner})`;

/**
 * Makes `limits` the owner's limits: those of a name that is there already keep their id, others are
 * deleted. The caller has locked the owner's row. Throws the 400 of two limits of one name, and of
 * numbers that are too large to be kept.
 */
export async function replaceLimits(
  change: Change,
  call: Call,
  { owner, limits }: { owner: LimitOwner; limits: readonly RatelimitRequest[] },
): Promise<void> {
  const rows = toRows(limits);
  await deleteOthers(change, owner, rows);
  if (rows.length === 0) return;
  const ids = rows.map(() => newId("ratelimit"));
  const written = await change.transaction.query<{ id: string; name: string; isNew: boolean }>(
    `INSERT INTO key_ratelimits AS r
       (id, workspace_id, ${owner.column}, name, "limit", duration_ms, auto_apply)
     SELECT id, $1, $2, name, "limit", "durationMs", "autoApply"
     FROM jsonb_to_recordset($3::jsonb)
       AS row(id text, name text, "limit" bigint, "durationMs" bigint, "autoApply" boolean)
     ON CONFLICT (${owner.column}, name) DO UPDATE
       SET "limit" = excluded."limit", duration_ms = excluded.duration_ms,
         auto_apply = excluded.auto_apply
     WHERE (r."limit", r.duration_ms, r.auto_apply)
       IS DISTINCT FROM (excluded."limit", excluded.duration_ms, excluded.auto_apply)
     RETURNING r.id, r.name, r.id = ANY ($4) AS "isNew"`,
    [
      call.workspaceId,
      owner.id,
      JSON.stringify(rows.map((row, index) => ({ id: ids[index], ...row }))),
      ids,
    ],
  );
  for (const { isNew, ...limit } of written.rows) {
    change.record(limitEntry(isNew ? "create" : "update", owner, limit));
  }
}

type LimitRow = { name: string; limit: string; durationMs: string; autoApply: boolean };

/** In the order of names, so that two calls lock alike. */
function toRows(limits: readonly RatelimitRequest[]): LimitRow[] {
  const names = new Set<string>();
  for (const { name } of limits) {
    if (names.has(name)) throw invalidInput(`\`ratelimits\` has two limits named '${name}'.`);
    names.add(name);
  }
  return limits
    .map(({ name, limit, duration, autoApply }) => ({
      name,
      limit: toInt64(limit, "ratelimits.limit"),
      durationMs: toInt64(duration, "ratelimits.duration"),
      autoApply,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function deleteOthers(change: Change, owner: LimitOwner, kept: readonly LimitRow[]) {
  const { rows } = await change.transaction.query<{ id: string; name: string }>(
    `DELETE FROM key_ratelimits WHERE ${owner.column} = $1 AND name <> ALL ($2)
     RETURNING id, name`,
    [owner.id, kept.map(({ name }) => name)],
  );
  for (const limit of rows) change.record(limitEntry("delete", owner, limit));
}

const verbs = { create: "Created", update: "Updated", delete: "Deleted" } as const;

function limitEntry(
  what: keyof typeof verbs,
  owner: LimitOwner,
  { id, name }: { id: string; name: string },
): AuditEntry {
  const type = owner.column === "key_id" ? "key" : "identity";
  return {
    event: `ratelimit.${what}`,
    description: `${verbs[what]} ratelimit ${name} (${id}) of ${type} ${owner.id}`,
    targets: [
      { type, id: owner.id },
      { type: "ratelimit", id, name },
    ],
  };
}

/** What is read with `limitsOf`, as it is answered. */
export type LimitsColumn = RatelimitResponse[];
