import { z } from "zod";
import { lockKey, onKey, recordKey } from "#api/keys/store/key-access.ts";
import { demand, procedure } from "#api/procedure.ts";
import { Empty, KeyId } from "#api/schemas/resources.ts";
import type { KeyParts } from "./parts.ts";
import { exampleKeyId } from "./schemas.ts";

export function deleteKey({ change }: KeyParts) {
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
