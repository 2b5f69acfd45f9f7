/** The namespace `apis`: what keys belong to. */
import { z } from "zod";
import type { NamespaceParts } from "#api/api.ts";
import { tuple } from "#api/grants.ts";
import { type Procedures, procedure } from "#api/procedure.ts";
import { ApiId, Empty, text } from "#api/schema.ts";
import { createApi, deleteApi } from "./api-changes.ts";
import { findApi } from "./api-store.ts";

type Parts = Pick<NamespaceParts, "database" | "change">;

export function createApiProcedures({ database, change }: Parts): Procedures {
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
      handle: async ({ apiId }, { workspaceId }) => {
        const { id, name } = await findApi(database, workspaceId, apiId);
        return { data: { id, name } };
      },
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
