import { z } from "zod";
import type { Change } from "#api/changes/change.ts";
import { newId } from "#api/ids.ts";
import { exampleApiId } from "#api/keys/schemas.ts";
import type { ApisParts } from "#api/parts.ts";
import { type Call, procedure } from "#api/procedure.ts";
import { text } from "#api/schemas/schema.ts";

export function createApi({ change }: ApisParts) {
  return procedure({
    summary: "Creates an API, to which keys can be added.",
    input: z.strictObject({
      name: text({ min: 3, max: 256 }).describe(
        "A name for people, 3 to 256 characters. Names need not be unique.",
      ),
    }),
    output: z.object({
      apiId: z.string().describe("The id of the new API, `api_…`: keys are created with it."),
    }),
    example: { body: { name: "payments" }, data: { apiId: exampleApiId } },
    permission: () => "api.*.create_api",
    handle: async ({ name }, call) => ({
      data: { apiId: await change(call, (made) => insertApi(made, call, name)) },
    }),
  });
}

/** Returns the new API's id. Names need not be unique. */
async function insertApi(
  { transaction, record }: Change,
  { workspaceId }: Call,
  name: string,
): Promise<string> {
  const id = newId("api");
  const keySpaceId = newId("keySpace");
  await transaction.query("INSERT INTO key_spaces (id, workspace_id) VALUES ($1, $2)", [
    keySpaceId,
    workspaceId,
  ]);
  await transaction.query(
    "INSERT INTO apis (id, workspace_id, key_space_id, name) VALUES ($1, $2, $3, $4)",
    [id, workspaceId, keySpaceId, name],
  );
  record({
    event: "api.create",
    description: `Created API ${name} (${id})`,
    targets: [{ type: "api", id, name }],
  });
  return id;
}
