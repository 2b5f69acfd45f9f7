import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import { exampleApiId } from "#api/keys/schemas.ts";
import { findApi } from "#api/keys/store/key-access.ts";
import type { ApisParts } from "#api/parts.ts";
import { procedure } from "#api/procedure.ts";
import { ApiId } from "#api/schemas/resources.ts";

export function getApi({ database }: ApisParts) {
  return procedure({
    summary: "Returns an API by its id.",
    input: z.strictObject({ apiId: ApiId }),
    output: z.object({
      id: z.string().describe("The id of the API, `api_…`."),
      name: z.string().describe("Its name, for people."),
    }),
    example: { body: { apiId: exampleApiId }, data: { id: exampleApiId, name: "payments" } },
    permission: ({ apiId }) => tuple("api", apiId, "read_api"),
    refusals: [404],
    handle: async ({ apiId }, call) => {
      const { name } = await findApi(database, call, apiId);
      return { data: { id: apiId, name } };
    },
  });
}
