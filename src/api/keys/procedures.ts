/** The namespace `keys`: the key of an entry is the procedure's name. */
import type { Procedures } from "#api/procedure.ts";
import { createKey } from "./create-key.ts";
import { deleteKey } from "./delete-key.ts";
import { addPermissions, removePermissions, setPermissions } from "./edit-permissions.ts";
import { addRoles, removeRoles, setRoles } from "./edit-roles.ts";
import { getKey } from "./get-key.ts";
import { migrateKeys } from "./migrate-keys.ts";
import type { KeyParts } from "./parts.ts";
import { rerollKey } from "./reroll-key.ts";
import { updateCredits } from "./update-credits.ts";
import { updateKey } from "./update-key.ts";
import { verifyKey } from "./verify-key.ts";
import { whoami } from "./whoami.ts";

export function keysProcedures(parts: KeyParts): Procedures {
  return {
    addPermissions: addPermissions(parts),
    addRoles: addRoles(parts),
    createKey: createKey(parts),
    deleteKey: deleteKey(parts),
    getKey: getKey(parts),
    migrateKeys: migrateKeys(parts),
    removePermissions: removePermissions(parts),
    removeRoles: removeRoles(parts),
    rerollKey: rerollKey(parts),
    setPermissions: setPermissions(parts),
    setRoles: setRoles(parts),
    updateCredits: updateCredits(parts),
    updateKey: updateKey(parts),
    verifyKey: verifyKey(parts),
    whoami: whoami(parts),
  };
}
