/** The namespace `apis`: what keys belong to. */
import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import { KeyResponse } from "#api/keys/schemas.ts";
import { findApi } from "#api/keys/store/key-access.ts";
import type { NamespaceParts } from "#api/parts.ts";
import { type Procedures, procedure } from "#api/procedure.ts";
import { ApiId, Empty, pageSize, text } from "#api/schemas/schema.ts";
import { createApi, deleteApi } from "./api-changes.ts";
import { listKeys } from "./list-keys.ts";

type Parts = Pick<NamespaceParts, "database" | "change" | "keyRing">;

export function apisProcedures({ database, change, keyRing }: Parts): Procedures {
  return {
    createApi: procedure({
      summary: "Creates an API, to which keys can be added.",
      input: z.strictObject({ name: text({ min: 3, max: 256 }) }),
      output: z.object({ apiId: z.string() }),
      permission: () => "api.*.create_api",
      handle: async ({ name }, call) => ({
        data: { apiId: await change(call, (made) => createApi(made, call, name)) },
      }),
    }),
    getApi: procedure({
      summary: "Answers an API by its id.",
      input: z.strictObject({ apiId: ApiId }),
      output: z.object({ id: z.string(), name: z.string() }),
      permission: ({ apiId }) => tuple("api", apiId, "read_api"),
      refusals: [404],
      handle: async ({ apiId }, call) => {
        const { name } = await findApi(database, call, apiId);
        return { data: { id: apiId, name } };
      },
    }),
    listKeys: procedure({
      summary: "Lists the keys of an API by id, a page at a time.",
      input: z.strictObject({
        apiId: text({ min: 1 }),
        limit: pageSize(100),
        cursor: text().optional(),
        externalId: text({ min: 1 }).optional(),
        decrypt: z.boolean().default(false),
        // Nothing here is cached.
        revalidateKeysCache: z.boolean().default(false),
      }),
      output: z.array(KeyResponse),
      refusals: [404, 412],
      handle: (input, call) => listKeys({ change, database, keyRing }, call, input),
    }),
    deleteApi: procedure({
      summary: "Deletes an API; its keys are not valid any more.",
      input: z.strictObject({ apiId: ApiId }),
      output: Empty,
      permission: ({ apiId }) => tuple("api", apiId, "delete_api"),
      refusals: [404, 412],
      handle: async ({ apiId }, call) => {
        await change(call, (made) => deleteApi(made, call, apiId));
        return { data: {} };
      },
    }),
  };
}
