import { z } from "zod";
import { ApiError } from "#api/error.ts";
import { recordShown } from "#api/keys/recoverable/key-ring.ts";
import { findKey, onKey, requireRecoverable } from "#api/keys/store/key-access.ts";
import { demand, procedure } from "#api/procedure.ts";
import { KeyId } from "#api/schemas/resources.ts";
import type { KeyParts } from "./parts.ts";
import { Decrypt, exampleKey, exampleKeyId, exampleStoredKey, KeyResponse } from "./schemas.ts";
import { describeKey } from "./store/key-details.ts";

export function getKey({ change, database, keyRing }: KeyParts) {
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
