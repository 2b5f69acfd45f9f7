/** keys.getKey and keys.whoami. */
import { z } from "zod";
import { hashKey } from "#api/cache/key-record.ts";
import { ApiError } from "#api/error.ts";
import { demand, procedure } from "#api/procedure.ts";
import { KeyId, text } from "#api/schemas/schema.ts";
import { findKey, keyNotFound, onKey, requireRecoverable } from "./key-access.ts";
import { describeKey, loadKeyDetails } from "./key-details.ts";
import type { KeyParts } from "./parts.ts";
import { KeyResponse } from "./schemas.ts";
import { recordShown } from "./shown.ts";

export function getKey({ change, database, keyRing }: KeyParts) {
  return procedure({
    summary: "Shows a key by its id; with `decrypt` also the key itself, if it is recoverable.",
    input: z.strictObject({ keyId: KeyId, decrypt: z.boolean().default(false) }),
    output: KeyResponse,
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

export function whoami({ database }: KeyParts) {
  return procedure({
    summary: "Shows a key by the key itself; nothing is spent.",
    input: z.strictObject({ key: text({ min: 1, max: 512 }) }),
    output: KeyResponse,
    refusals: [404],
    handle: async (input, call) => {
      const where = `k.hash = $1 AND k.workspace_id = $2 AND k.deleted_at IS NULL
        AND (a.id IS NULL OR a.deleted_at IS NULL)`;
      const values = [hashKey(input.key), call.workspaceId];
      const [key] = await loadKeyDetails(database, where, values);
      // Who may not see it is told the same as who asks for nothing.
      if (key === undefined || !call.grants.allow(onKey(key, "read_key"))) throw keyNotFound();
      return { data: describeKey(key) };
    },
  });
}
