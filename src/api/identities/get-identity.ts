import { z } from "zod";
import { demand, procedure } from "#api/procedure.ts";
import { exampleIdentity, IdentityResponse } from "#api/schemas/resources.ts";
import {
  describeIdentity,
  findIdentity,
  type IdentitiesParts,
  IdentityRef,
  ofIdentity,
} from "./identity-store.ts";

export function getIdentity({ database }: IdentitiesParts) {
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
