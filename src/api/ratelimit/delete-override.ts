import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import { demand, procedure } from "#api/procedure.ts";
import { Empty } from "#api/schemas/resources.ts";
import { exampleOverride, overrideNotFound, overrideTarget } from "./overrides.ts";
import type { RatelimitParts } from "./parts.ts";

export function deleteOverride({ namespaces, change }: RatelimitParts) {
  return procedure({
    summary: "Removes the override of exactly this identifier or pattern.",
    input: z.strictObject(overrideTarget),
    output: Empty,
    example: { body: { namespace: "emails", identifier: exampleOverride.identifier }, data: {} },
    refusals: [404],
    handle: async (input, call) => {
      const namespace = await namespaces.require(call, input.namespace);
      demand(call, tuple("ratelimit", namespace.id, "delete_override"));
      return change(call, async ({ transaction, record, stale }) => {
        const { rows } = await transaction.query<{ id: string }>(
          `DELETE FROM ratelimit_overrides WHERE namespace_id = $1 AND identifier = $2
           RETURNING id`,
          [namespace.id, input.identifier],
        );
        const id = rows[0]?.id;
        if (id === undefined) throw overrideNotFound();
        stale(`namespace:${namespace.id}`);
        record({
          event: "ratelimit.delete_override",
          description: `Deleted the override of ${input.identifier} in ${namespace.name}`,
          targets: [{ type: "ratelimitOverride", id, name: input.identifier }],
        });
        return { data: {} };
      });
    },
  });
}
