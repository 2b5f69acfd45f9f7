/** The namespace `keys`: the key of an entry is the procedure's name. */
import { type Procedures, procedure } from "#api/procedure.ts";
import {
  addPermissions,
  addRoles,
  removePermissions,
  removeRoles,
  setPermissions,
  setRoles,
} from "./authorize.ts";
import { createKey } from "./create.ts";
import { migrateKeys } from "./migrate.ts";
import type { KeyParts } from "./parts.ts";
import { getKey, whoami } from "./read.ts";
import { rerollKey } from "./reroll.ts";
import { deleteKey, updateKey } from "./update.ts";
import { updateCredits } from "./update-credits.ts";
import { createVerify } from "./verify.ts";
import { VerifyInput, VerifyOutput } from "./verify-schemas.ts";

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
    verifyKey: procedure({
      summary: "Tells whether a key may be used now, and counts that it was.",
      input: VerifyInput,
      output: VerifyOutput,
      refusals: [412],
      handle: createVerify(parts.verify),
    }),
    whoami: whoami(parts),
  };
}
