/** The rate limits that a key or an identity carries. */
import { invalidInput } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import type { RatelimitRequest } from "#api/schemas/resources.ts";
import { toBigint } from "#api/schemas/schema.ts";
import type { Change } from "./change.ts";

/** Whose limits: the name of the column and the id in it. */
export type RatelimitOwner = { workspaceId: string; column: "key_id" | "identity_id"; id: string };

/** Replaces all limits of the owner by `limits`; one with the same name keeps its id. */
export async function replaceRatelimits(
  change: Change,
  owner: RatelimitOwner,
  limits: readonly RatelimitRequest[],
): Promise<void> {
  refuseDuplicateNames(limits);
  const names = limits.map(({ name }) => name);
  const removed = await change.transaction.query<{ id: string; name: string }>(
    `DELETE FROM key_ratelimits WHERE ${owner.column} = $1 AND NOT name = ANY($2)
     RETURNING id, name`,
    [owner.id, names],
  );
  for (const target of removed.rows) recordChange(change, "delete", target);
  await upsert(change, owner, limits);
}

async function upsert(
  change: Change,
  owner: RatelimitOwner,
  limits: readonly RatelimitRequest[],
): Promise<void> {
  if (limits.length === 0) return;
  const { rows } = await change.transaction.query<{ id: string; name: string; isNew: boolean }>(
    `INSERT INTO key_ratelimits
       (id, workspace_id, ${owner.column}, name, "limit", duration_ms, auto_apply)
     SELECT id, $1, $2, name, most, duration, auto
     FROM unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::boolean[])
       AS new (id, name, most, duration, auto)
     ON CONFLICT (${owner.column}, name) DO UPDATE
       SET "limit" = excluded."limit", duration_ms = excluded.duration_ms,
           auto_apply = excluded.auto_apply
     RETURNING id, name, xmax = 0 AS "isNew"`,
    [
      owner.workspaceId,
      owner.id,
      limits.map(() => newId("ratelimit")),
      limits.map(({ name }) => name),
      limits.map(({ limit }) => toBigint(limit)),
      limits.map(({ duration }) => toBigint(duration)),
      limits.map(({ autoApply }) => autoApply),
    ],
  );
  for (const { isNew, ...target } of rows)
    recordChange(change, isNew ? "create" : "update", target);
}

type Target = { id: string; name: string };

function recordChange(change: Change, what: "create" | "update" | "delete", target: Target): void {
  change.record({
    event: `ratelimit.${what}`,
    description: `${what[0]?.toUpperCase()}${what.slice(1)}d rate limit ${target.name}`,
    targets: [{ type: "ratelimit", ...target }],
  });
}

function refuseDuplicateNames(limits: readonly { name: string }[]): void {
  const names = limits.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw invalidInput(`Rate limit '${twice}' is given more than once; each needs its own name.`);
  }
}
