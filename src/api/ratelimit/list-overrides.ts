import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import { demand, procedure } from "#api/procedure.ts";
import { aboutCursor, pageSize, toPage } from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";
import {
  describeOverride,
  exampleOverride,
  type Override,
  OverrideOutput,
  overrideTarget,
} from "./overrides.ts";
import type { RatelimitParts } from "./parts.ts";

export function listOverrides({ namespaces, database }: RatelimitParts) {
  return procedure({
    summary: "Lists the overrides of a namespace.",
    input: z.strictObject({
      namespace: overrideTarget.namespace,
      cursor: text().describe(aboutCursor).optional(),
      limit: pageSize(10),
    }),
    output: z.array(OverrideOutput).describe("The overrides of the page, by id."),
    example: {
      body: { namespace: "emails", limit: 10 },
      data: [exampleOverride],
      pagination: { hasMore: false },
    },
    refusals: [404],
    handle: async ({ namespace: name, cursor = "", limit }, call) => {
      const namespace = await namespaces.require(call, name);
      demand(call, tuple("ratelimit", namespace.id, "read_override"));
      const { rows } = await database.query<{ [Column in keyof Override]: string }>(
        `SELECT id, identifier, "limit", duration_ms AS "durationMs" FROM ratelimit_overrides
         WHERE namespace_id = $1 AND id >= $2 ORDER BY id LIMIT $3`,
        [namespace.id, cursor, limit + 1],
      );
      const page = toPage(rows, limit);
      const overrides = page.rows.map((row) => ({
        ...row,
        limit: Number(row.limit),
        durationMs: Number(row.durationMs),
      }));
      return { data: overrides.map(describeOverride), pagination: page.pagination };
    },
  });
}
