import { z } from "zod";
import { hashKey } from "#api/cache/key-record.ts";
import { keyNotFound, onKey } from "#api/keys/store/key-access.ts";
import { procedure } from "#api/procedure.ts";
import { text } from "#api/schemas/schema.ts";
import type { KeyParts } from "./parts.ts";
import { exampleKey, exampleStoredKey, KeyResponse } from "./schemas.ts";
import { describeKey, loadKeyDetails } from "./store/key-details.ts";

export function whoami({ database }: KeyParts) {
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
