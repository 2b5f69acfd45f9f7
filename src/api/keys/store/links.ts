/** The permissions and roles that a key has directly. */
import type { Change } from "#api/changes/change.ts";
import { invalidInput } from "#api/error.ts";
import { refuseTooManyByRoles } from "#api/permissions/permission-store.ts";

export type Links = { keyId: string; kind: "permission" | "role"; ids: readonly string[] };

/** The most that a key may have in total, since they are read and returned all at once. */
const maxLinks = { permission: 1_000, role: 200 } as const;

/** Adds links to the key's present ones. Throws the 400 when it would have too many. */
export async function addLinks(change: Change, links: Links): Promise<void> {
  const { keyId, kind, ids } = links;
  if (ids.length === 0) return;
  const { rows } = await change.transaction.query<{ id: string; had: number }>(
    `WITH added AS (
       INSERT INTO key_${kind}s (key_id, ${kind}_id) SELECT $1, unnest($2::text[])
       ON CONFLICT DO NOTHING RETURNING ${kind}_id AS id
     )
     SELECT id, (SELECT count(*) FROM key_${kind}s WHERE key_id = $1)::int AS had FROM added`,
    [keyId, ids],
  );
  const max = maxLinks[kind];
  if ((rows[0]?.had ?? 0) + rows.length > max) {
    throw invalidInput(`A key can have at most ${max} ${kind}s. Please remove some first.`);
  }
  if (kind === "role") await refuseTooManyByRoles(change, { keyId });
  for (const { id } of rows) recordLink(change, "connect", { ...links, id });
}

export async function removeLinks(change: Change, links: Links): Promise<void> {
  const { keyId, kind, ids } = links;
  const { rows } = await change.transaction.query<{ id: string }>(
    `DELETE FROM key_${kind}s WHERE key_id = $1 AND ${kind}_id = ANY($2) RETURNING ${kind}_id AS id`,
    [keyId, ids],
  );
  for (const { id } of rows) recordLink(change, "disconnect", { ...links, id });
}

export async function replaceLinks(change: Change, links: Links): Promise<void> {
  const { keyId, kind, ids } = links;
  const { rows } = await change.transaction.query<{ id: string }>(
    `SELECT ${kind}_id AS id FROM key_${kind}s WHERE key_id = $1 AND NOT ${kind}_id = ANY($2)`,
    [keyId, ids],
  );
  await removeLinks(change, { keyId, kind, ids: rows.map(({ id }) => id) });
  await addLinks(change, links);
}

function recordLink(
  change: Change,
  verb: "connect" | "disconnect",
  { keyId, kind, id }: Omit<Links, "ids"> & { id: string },
): void {
  const [what, join] = verb === "connect" ? ["Connected", "to"] : ["Disconnected", "from"];
  change.record({
    event: `authorization.${verb}_${kind}_and_key`,
    description: `${what} ${kind} ${id} ${join} key ${keyId}`,
    targets: [
      { type: "key", id: keyId },
      { type: kind, id },
    ],
  });
}
