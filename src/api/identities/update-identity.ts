import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { replaceRatelimits } from "#api/changes/owned-ratelimits.ts";
import { type Call, demand, procedure } from "#api/procedure.ts";
import { checkMetaSize, exampleIdentity, IdentityResponse } from "#api/schemas/resources.ts";
import { Meta } from "#api/schemas/schema.ts";
import {
  describeIdentity,
  findIdentity,
  type IdentitiesParts,
  IdentityRef,
  type IdentityRow,
  identityEntry,
  lockIdentity,
  ofIdentities,
  ownerOf,
  Ratelimits,
} from "./identity-store.ts";

const Input = z.strictObject({
  identity: IdentityRef,
  meta: Meta.describe(
    "A JSON object of your own, which replaces the metadata: at most 100 properties, 1 MiB. Absent keeps it.",
  ).optional(),
  ratelimits: Ratelimits.describe(
    "All limits that the keys of the identity share, at most 50: others are removed. Absent keeps them.",
  ).optional(),
});
type Input = z.infer<typeof Input>;

export function updateIdentity({ change }: IdentitiesParts) {
  return procedure({
    summary: "Changes an identity's metadata, its limits, or both.",
    input: Input,
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
  { identity, meta, ratelimits }: Input,
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
