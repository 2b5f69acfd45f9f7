import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { replaceRatelimits } from "#api/changes/owned-ratelimits.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { type Call, demand, procedure } from "#api/procedure.ts";
import {
  checkMetaSize,
  ExternalId,
  exampleIdentity,
  exampleLimit,
} from "#api/schemas/resources.ts";
import { Meta } from "#api/schemas/schema.ts";
import {
  type IdentitiesParts,
  identityEntry,
  ofIdentities,
  ownerOf,
  Ratelimits,
} from "./identity-store.ts";

const Input = z.strictObject({
  externalId: ExternalId.describe(
    "Your own id of the user or tenant, not used by another identity.",
  ),
  meta: Meta.optional(),
  ratelimits: Ratelimits.describe(
    "Limits that all keys of the identity share, at most 50.",
  ).optional(),
});
type Input = z.infer<typeof Input>;

export function createIdentity({ change }: IdentitiesParts) {
  return procedure({
    summary: "Creates an identity.",
    input: Input,
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
  { externalId, meta, ratelimits }: Input,
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
