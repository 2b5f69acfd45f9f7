import type { Change } from "#api/changes/change.ts";
import { newId } from "#api/ids.ts";

/** Tries when identities are deleted concurrently. */
const maxTries = 4;

/** The identities' ids by external id; missing ones are created. Locked against deletion until the commit. */
export async function ensureIdentities(
  change: Change,
  workspaceId: string,
  externalIds: readonly string[],
): Promise<Map<string, string>> {
  const wanted = [...new Set(externalIds)];
  for (let tries = 0; tries < maxTries; tries += 1) {
    const known = await lockIdentities(change, workspaceId, wanted);
    const missing = wanted.filter((externalId) => !known.has(externalId));
    if (missing.length === 0) return known;
    await createIdentities(change, workspaceId, missing);
  }
  throw new Error("identities are deleted as fast as they are created");
}

async function lockIdentities(
  { transaction }: Change,
  workspaceId: string,
  externalIds: readonly string[],
): Promise<Map<string, string>> {
  if (externalIds.length === 0) return new Map();
  const { rows } = await transaction.query<{ id: string; external_id: string }>(
    `SELECT id, external_id FROM identities
     WHERE workspace_id = $1 AND external_id = ANY($2) AND deleted_at IS NULL
     ORDER BY external_id FOR KEY SHARE`,
    [workspaceId, externalIds],
  );
  return new Map(rows.map(({ id, external_id: name }) => [name, id]));
}

async function createIdentities(
  { transaction, record }: Change,
  workspaceId: string,
  externalIds: readonly string[],
): Promise<void> {
  // A concurrent call may create the same ones, which are used then.
  const { rows } = await transaction.query<{ id: string; external_id: string }>(
    `INSERT INTO identities (id, workspace_id, external_id)
     SELECT id, $1, external_id FROM unnest($2::text[], $3::text[]) AS new (id, external_id)
     ORDER BY external_id
     ON CONFLICT (workspace_id, external_id) WHERE deleted_at IS NULL DO NOTHING
     RETURNING id, external_id`,
    [workspaceId, externalIds.map(() => newId("identity")), externalIds],
  );
  for (const { id, external_id: name } of rows) {
    record({
      event: "identity.create",
      description: `Created identity ${name} (${id})`,
      targets: [{ type: "identity", id, name }],
    });
  }
}
