import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { type Call, demand, procedure } from "#api/procedure.ts";
import { exampleIdentity } from "#api/schemas/resources.ts";
import {
  type IdentitiesParts,
  IdentityRef,
  identityEntry,
  lockIdentity,
  ofIdentities,
} from "./identity-store.ts";

export function deleteIdentity({ change }: IdentitiesParts) {
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
