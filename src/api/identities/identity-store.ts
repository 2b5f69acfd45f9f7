import type { ClientBase, Pool } from "pg";
import { anyOf, type Requirement, tuple } from "#api/access/grants.ts";
import type { AuditEntry, Change, MakeChange } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import type { Call } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import {
  describeRules,
  type IdentityResponse,
  RatelimitRequest,
  type RatelimitRule,
  rulesOf,
} from "#api/schemas/resources.ts";
import { present, text } from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";

/** The parts that the procedures of the namespace `identities` are given. */
export type IdentitiesParts = { database: Database; change: MakeChange };

/** An identity by its id or its external id. */
export const IdentityRef = text({ min: 1 }).describe(
  "The id of the identity, `id_…`, or your own id of the user or tenant.",
);

export const Ratelimits = list(RatelimitRequest, { max: 50 });

type Action = `${"create" | "read" | "update" | "delete"}_identity`;

/** Requires the action on all identities, including ones that do not exist. */
export function ofIdentities({ workspaceId }: Call, action: Action): Requirement {
  return anyOf(`identity.*.${action}`, urn(workspaceId, "*", action));
}

export function ofIdentity({ workspaceId }: Call, id: string, action: Action): Requirement {
  return anyOf(tuple("identity", id, action), urn(workspaceId, id, action));
}

function urn(workspaceId: string, id: string, action: Action): string {
  return `unkey:v1:${workspaceId}:identities/${id}#${action}`;
}

export type IdentityRow = {
  id: string;
  externalId: string;
  meta: Record<string, unknown> | null;
  ratelimits: RatelimitRule[];
};

export const identityColumns = `i.id, i.external_id AS "externalId", i.meta,
  ${rulesOf("r.identity_id = i.id")} AS ratelimits`;

/** The identity with this id, else with this external id. Throws the 404. */
export async function findIdentity(
  database: Pool | ClientBase,
  workspaceId: string,
  idOrExternalId: string,
): Promise<IdentityRow> {
  const { rows } = await database.query<IdentityRow>(
    `SELECT ${identityColumns} FROM identities i
     WHERE i.workspace_id = $1 AND i.deleted_at IS NULL AND (i.id = $2 OR i.external_id = $2)
     ORDER BY i.id = $2 DESC LIMIT 1`,
    [workspaceId, idOrExternalId],
  );
  if (rows[0] === undefined) throw identityNotFound();
  return rows[0];
}

/** The requested id is not in the message: it may be of any length. */
function identityNotFound(): ApiError {
  return new ApiError("unkey/data/identity_not_found", "This identity does not exist.");
}

export function describeIdentity(identity: IdentityRow): IdentityResponse {
  return {
    id: identity.id,
    externalId: identity.externalId,
    meta: present(identity.meta),
    ratelimits: describeRules(identity.ratelimits),
  };
}

// The common part of creating, updating and deleting an identity.

type IdentityName = { id: string; externalId: string };

/** Throws the 404. */
export async function lockIdentity(
  { transaction }: Change,
  { workspaceId }: Call,
  idOrExternalId: string,
): Promise<IdentityName> {
  const { id, externalId } = await findIdentity(transaction, workspaceId, idOrExternalId);
  const { rowCount } = await transaction.query(
    "SELECT 1 FROM identities WHERE id = $1 AND deleted_at IS NULL FOR UPDATE",
    [id],
  );
  // It was deleted while this call waited for the lock.
  if (rowCount === 0) throw identityNotFound();
  return { id, externalId };
}

export const ownerOf = ({ workspaceId }: Call, id: string) =>
  ({ workspaceId, column: "identity_id", id }) as const;

const verbs = { create: "Created", update: "Updated", delete: "Deleted" } as const;

export function identityEntry(
  what: keyof typeof verbs,
  { id, externalId }: IdentityName,
): AuditEntry {
  return {
    event: `identity.${what}`,
    description: `${verbs[what]} identity ${externalId} (${id})`,
    targets: [{ type: "identity", id, name: externalId }],
  };
}

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
