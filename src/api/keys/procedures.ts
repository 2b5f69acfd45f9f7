/** The namespace `keys`: the key of an entry is the procedure's name. */
import { z } from "zod";
import { hashKey } from "#api/cache/key-record.ts";
import { ApiError } from "#api/error.ts";
import { demand, type Procedures, procedure } from "#api/procedure.ts";
import { Empty, KeyId } from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";
import { createKey } from "./create-key.ts";
import { addPermissions, removePermissions, setPermissions } from "./edit-permissions.ts";
import { addRoles, removeRoles, setRoles } from "./edit-roles.ts";
import { migrateKeys } from "./migrate-keys.ts";
import type { KeyParts } from "./parts.ts";
import { recordShown } from "./recoverable/key-ring.ts";
import { rerollKey } from "./reroll-key.ts";
import { Decrypt, exampleKey, exampleKeyId, exampleStoredKey, KeyResponse } from "./schemas.ts";
import {
  findKey,
  keyNotFound,
  lockKey,
  onKey,
  recordKey,
  requireRecoverable,
} from "./store/key-access.ts";
import { describeKey, loadKeyDetails } from "./store/key-details.ts";
import { updateCredits } from "./update-credits.ts";
import { updateKey } from "./update-key.ts";
import { verifyKey } from "./verify-key.ts";

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

function getKey({ change, database, keyRing }: KeyParts) {
  return procedure({
    summary: "Shows a key by its id; with `decrypt` also the key itself, if it is recoverable.",
    input: z.strictObject({ keyId: KeyId, decrypt: Decrypt }),
    output: KeyResponse,
    example: {
      body: { keyId: exampleKeyId, decrypt: true },
      data: { ...exampleStoredKey, plaintext: exampleKey },
    },
    refusals: [404, 412],
    handle: async ({ keyId, decrypt }, call) => {
      const key = await findKey(database, call, keyId);
      demand(call, onKey(key, "read_key"));
      if (!decrypt) return { data: describeKey(key) };
      demand(call, onKey(key, "decrypt_key"));
      requireRecoverable(key);
      const data = describeKey(key, keyRing);
      if (key.sealed !== null && data.plaintext === undefined) throw notOpened();
      await recordShown(change, call, [data]);
      return { data };
    },
  });
}

function notOpened(): ApiError {
  return new ApiError(
    "unkey/application/precondition_failed",
    "This key was sealed with an encryption key that this server does not have.",
  );
}

function whoami({ database }: KeyParts) {
  return procedure({
    summary: "Shows a key by the key itself; nothing is spent.",
    input: z.strictObject({
      key: text({ min: 1, max: 512 }).describe("The key itself, as your user has it."),
    }),
    output: KeyResponse,
    example: { body: { key: exampleKey }, data: exampleStoredKey },
    refusals: [404],
    handle: async (input, call) => {
      const where = `k.hash = $1 AND k.workspace_id = $2 AND k.deleted_at IS NULL
        AND (a.id IS NULL OR a.deleted_at IS NULL)`;
      const values = [hashKey(input.key), call.workspaceId];
      const [key] = await loadKeyDetails(database, where, values);
      // A key that the caller may not read is answered like one that does not exist.
      if (key === undefined || !call.grants.allow(onKey(key, "read_key"))) throw keyNotFound();
      return { data: describeKey(key) };
    },
  });
}

function deleteKey({ change }: KeyParts) {
  return procedure({
    summary: "Deletes a key; `permanent` also removes all its data.",
    input: z.strictObject({
      keyId: KeyId,
      permanent: z
        .boolean()
        .default(false)
        .describe("Whether its row and all that belongs to it are removed too, for good."),
    }),
    output: Empty,
    example: { body: { keyId: exampleKeyId, permanent: false }, data: {} },
    refusals: [404],
    handle: ({ keyId, permanent }, call) =>
      change(call, async (made) => {
        const key = await lockKey(made.transaction, call, keyId);
        demand(call, onKey(key, "delete_key"));
        await made.transaction.query(
          permanent
            ? "DELETE FROM keys WHERE id = $1"
            : "UPDATE keys SET deleted_at = now(), updated_at = now() WHERE id = $1",
          [keyId],
        );
        made.stale(`key:${keyId}`);
        const how = permanent ? "permanently" : "softly";
        recordKey(made, "key.delete", { id: keyId, description: `Deleted key ${keyId} ${how}` });
        return { data: {} };
      }),
  });
}
