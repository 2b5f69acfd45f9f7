/** The namespace `identities`: the holders of keys, with limits that all their keys share. */
import type { Pool } from "pg";
import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { replaceRatelimits } from "#api/changes/owned-ratelimits.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { type Call, demand, type Procedures, procedure } from "#api/procedure.ts";
import {
  aboutCursor,
  checkMetaSize,
  ExternalId,
  exampleIdentity,
  exampleLimit,
  IdentityResponse,
  likePattern,
  pageSize,
  toPage,
} from "#api/schemas/resources.ts";
import { Meta, text } from "#api/schemas/schema.ts";
import {
  describeIdentity,
  findIdentity,
  type IdentitiesParts,
  IdentityRef,
  type IdentityRow,
  identityColumns,
  identityEntry,
  lockIdentity,
  ofIdentities,
  ofIdentity,
  ownerOf,
  Ratelimits,
} from "./identity-store.ts";

export function identitiesProcedures(parts: IdentitiesParts): Procedures {
  return {
    getIdentity: getIdentity(parts),
    listIdentities: listIdentities(parts),
    createIdentity: createIdentity(parts),
    updateIdentity: updateIdentity(parts),
    deleteIdentity: deleteIdentity(parts),
  };
}

function getIdentity({ database }: IdentitiesParts) {
  return procedure({
    summary: "Returns an identity by its id or external id.",
    input: z.strictObject({ identity: IdentityRef }),
    output: IdentityResponse,
    example: { body: { identity: exampleIdentity.externalId }, data: exampleIdentity },
    refusals: [404],
    handle: async (input, call) => {
      const identity = await findIdentity(database, call.workspaceId, input.identity);
      demand(call, ofIdentity(call, identity.id, "read_identity"));
      return { data: describeIdentity(identity) };
    },
  });
}

function listIdentities({ database }: IdentitiesParts) {
  return procedure({
    summary: "Lists identities by id, a page at a time.",
    input: z.strictObject({
      limit: pageSize(100),
      cursor: text().describe(aboutCursor).optional(),
      search: text({ max: 256 })
        .describe("Part of the id or the external id, in whatever case; absent: all identities.")
        .optional(),
    }),
    output: z.array(IdentityResponse).describe("The identities of the page, by id."),
    example: {
      body: { limit: 10, search: "user_" },
      data: [exampleIdentity],
      pagination: { hasMore: false },
    },
    handle: async ({ limit, cursor = "", search }, call) => {
      const { workspaceId } = call;
      const query = { workspaceId, limit, cursor, pattern: likePattern(search) };
      const { rows, pagination } = toPage(await listIdentityIds(database, query), limit);
      if (rows.length === 0) demand(call, ofIdentities(call, "read_identity"));
      const ids = rows.map(({ id }) => id);
      for (const id of ids) demand(call, ofIdentity(call, id, "read_identity"));
      const identities = await readIdentities(database, ids);
      return { data: identities.map(describeIdentity), pagination };
    },
  });
}

/** `pattern` for ILIKE; `cursor` is the first id, "" for the beginning. */
type ListQuery = { workspaceId: string; limit: number; cursor: string; pattern: string };

/** The ids of a page and of the first row of the next one. */
async function listIdentityIds(
  database: Pool,
  { workspaceId, limit, cursor, pattern }: ListQuery,
): Promise<{ id: string; bytes: number }[]> {
  const { rows } = await database.query<{ id: string; bytes: number }>(
    `SELECT i.id, coalesce(octet_length(i.meta::text), 0) AS bytes FROM identities i
     WHERE i.workspace_id = $1 AND i.deleted_at IS NULL AND i.id >= $2
       AND (i.id ILIKE $3 OR i.external_id ILIKE $3)
     ORDER BY i.id LIMIT $4`,
    [workspaceId, cursor, pattern, limit + 1],
  );
  return rows;
}

/** The identities with these ids, ordered by id; one that was deleted in between is left out. */
async function readIdentities(database: Pool, ids: readonly string[]): Promise<IdentityRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.query<IdentityRow>(
    `SELECT ${identityColumns} FROM identities i
     WHERE i.id = ANY($1) AND i.deleted_at IS NULL ORDER BY i.id`,
    [ids],
  );
  return rows;
}

const CreateInput = z.strictObject({
  externalId: ExternalId.describe(
    "Your own id of the user or tenant, not used by another identity.",
  ),
  meta: Meta.optional(),
  ratelimits: Ratelimits.describe(
    "Limits that all keys of the identity share, at most 50.",
  ).optional(),
});
type CreateInput = z.infer<typeof CreateInput>;

function createIdentity({ change }: IdentitiesParts) {
  return procedure({
    summary: "Creates an identity.",
    input: CreateInput,
    output: z.object({
      identityId: z.string().describe("The id of the new identity, `id_…`."),
    }),
    example: {
      body: {
        externalId: exampleIdentity.externalId,
        meta: exampleIdentity.meta,
        ratelimits: [exampleLimit],
      },
      data: { identityId: exampleIdentity.id },
    },
    refusals: [409],
    handle: async (input, call) => {
      demand(call, ofIdentities(call, "create_identity"));
      return {
        data: { identityId: await change(call, (made) => insertIdentity(made, call, input)) },
      };
    },
  });
}

/** Returns the new identity's id. Throws the 409 when the external id is taken. */
async function insertIdentity(
  change: Change,
  call: Call,
  { externalId, meta, ratelimits }: CreateInput,
): Promise<string> {
  const id = newId("identity");
  const { rowCount } = await change.transaction.query(
    `INSERT INTO identities (id, workspace_id, external_id, meta) VALUES ($1, $2, $3, $4)
     ON CONFLICT (workspace_id, external_id) WHERE deleted_at IS NULL DO NOTHING`,
    [id, call.workspaceId, externalId, meta === undefined ? null : checkMetaSize(meta)],
  );
  if (rowCount === 0) {
    const detail = `Identity with externalId '${externalId}' already exists in this workspace.`;
    throw new ApiError("unkey/data/identity_already_exists", detail);
  }
  change.record(identityEntry("create", { id, externalId }));
  await replaceRatelimits(change, ownerOf(call, id), ratelimits ?? []);
  return id;
}

const UpdateInput = z.strictObject({
  identity: IdentityRef,
  meta: Meta.describe(
    "A JSON object of your own, which replaces the metadata: at most 100 properties, 1 MiB. Absent keeps it.",
  ).optional(),
  ratelimits: Ratelimits.describe(
    "All limits that the keys of the identity share, at most 50: others are removed. Absent keeps them.",
  ).optional(),
});
type UpdateInput = z.infer<typeof UpdateInput>;

function updateIdentity({ change }: IdentitiesParts) {
  return procedure({
    summary: "Changes an identity's metadata, its limits, or both.",
    input: UpdateInput,
    output: IdentityResponse.extend({
      meta: Meta.describe("The metadata that was sent; absent when none was.").optional(),
    }),
    example: {
      body: { identity: exampleIdentity.externalId, meta: { plan: "free" } },
      data: { ...exampleIdentity, meta: { plan: "free" } },
    },
    refusals: [404],
    handle: async (input, call) => {
      demand(call, ofIdentities(call, "update_identity"));
      const identity = await change(call, (made) => storeChanges(made, call, input));
      // Like the contract's own server, this echoes only metadata that was sent.
      return { data: describeIdentity({ ...identity, meta: input.meta ?? null }) };
    },
  });
}

/** Absent values do not change. Returns the updated identity. Throws the 404. */
async function storeChanges(
  change: Change,
  call: Call,
  { identity, meta, ratelimits }: UpdateInput,
): Promise<IdentityRow> {
  const { transaction } = change;
  const found = await lockIdentity(change, call, identity);
  await transaction.query(
    "UPDATE identities SET meta = coalesce($2, meta), updated_at = now() WHERE id = $1",
    [found.id, meta === undefined ? null : checkMetaSize(meta)],
  );
  change.record(identityEntry("update", found));
  if (ratelimits !== undefined) {
    await replaceRatelimits(change, ownerOf(call, found.id), ratelimits);
  }
  change.stale(`identity:${found.id}`);
  return findIdentity(transaction, call.workspaceId, found.id);
}

function deleteIdentity({ change }: IdentitiesParts) {
  return procedure({
    summary: "Deletes an identity; its keys are not deleted.",
    input: z.strictObject({ identity: IdentityRef }),
    output: undefined,
    example: { body: { identity: exampleIdentity.externalId }, data: undefined },
    errorsAreProblems: true,
    refusals: [404],
    handle: async (input, call) => {
      demand(call, ofIdentities(call, "delete_identity"));
      await change(call, (made) => markDeleted(made, call, input.identity));
      return { data: undefined };
    },
  });
}

/** Its keys are not deleted, and its external id can be used again. Throws the 404. */
async function markDeleted(change: Change, call: Call, identity: string): Promise<void> {
  const found = await lockIdentity(change, call, identity);
  await change.transaction.query("UPDATE identities SET deleted_at = now() WHERE id = $1", [
    found.id,
  ]);
  change.record(identityEntry("delete", found));
  change.stale(`identity:${found.id}`);
}
