import type { Change } from "#api/change.ts";
import { newId } from "#api/ids.ts";

/** The ids of the identities with these external ids, by external id; made where there are none. */
export async function ensureIdentities(
  change: Change,
  workspaceId: string,
  externalIds: readonly string[],
): Promise<Map<string, string>> {
  const wanted = [...new Set(externalIds)];
  if (wanted.length === 0) return new Map();
  const { transaction } = change;
  const created = await transaction.query<{ id: string; external_id: string }>(
    `INSERT INTO identities (id, workspace_id, external_id)
     SELECT id, $1, external_id FROM unnest($2::text[], $3::text[]) AS new (id, external_id)
     ON CONFLICT (workspace_id, external_id) WHERE deleted_at IS NULL DO NOTHING
     RETURNING id, external_id`,
    [workspaceId, wanted.map(() => newId("identity")), wanted],
  );
  for (const { id, external_id: name } of created.rows) {
    change.record({
      event: "identity.create",
      description: `Created identity ${id}`,
      targets: [{ type: "identity", id, name }],
    });
  }
  const { rows } = await transaction.query<{ id: string; external_id: string }>(
    `SELECT id, external_id FROM identities
     WHERE workspace_id = $1 AND external_id = ANY($2) AND deleted_at IS NULL`,
    [workspaceId, wanted],
  );
  return new Map(rows.map(({ id, external_id: name }) => [name, id]));
}
