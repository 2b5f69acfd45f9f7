/** The namespace `identities`: the holders of keys, with limits that all their keys share. */
import type { Procedures } from "#api/procedure.ts";
import { createIdentity } from "./create-identity.ts";
import { deleteIdentity } from "./delete-identity.ts";
import { getIdentity } from "./get-identity.ts";
import type { IdentitiesParts } from "./identity-store.ts";
import { listIdentities } from "./list-identities.ts";
import { updateIdentity } from "./update-identity.ts";

export function identitiesProcedures(parts: IdentitiesParts): Procedures {
  return {
    getIdentity: getIdentity(parts),
    listIdentities: listIdentities(parts),
    createIdentity: createIdentity(parts),
    updateIdentity: updateIdentity(parts),
    deleteIdentity: deleteIdentity(parts),
  };
}
