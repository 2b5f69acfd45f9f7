/** ratelimit.setOverride, getOverride, listOverrides and deleteOverride. */
import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { demand, procedure } from "#api/procedure.ts";
import { toBigint } from "#api/schemas/int64.ts";
import { toPage } from "#api/schemas/page.ts";
import { Empty, pageSize, text, whole } from "#api/schemas/schema.ts";
import type { Override } from "./overrides.ts";
import type { RatelimitParts } from "./parts.ts";
import { refuseExcessPattern } from "./pattern-bounds.ts";

const target = {
  namespace: text({ min: 1, max: 512 }),
  identifier: text({ min: 1, max: 512 }),
};

const OverrideOutput = z.object({
  overrideId: z.string(),
  identifier: z.string(),
  limit: whole(),
  duration: whole(),
});

export function setOverride({ namespaces, change }: RatelimitParts) {
  return procedure({
    summary: "Sets the limit of an identifier, or of all that a pattern with `*` matches.",
    input: z.strictObject({
      ...target,
      limit: whole({ min: 0 }),
      duration: whole({ min: 1_000 }),
    }),
    output: z.object({ overrideId: z.string() }),
    refusals: [404],
    handle: async (input, call) => {
      const namespace = await namespaces.require(call, input.namespace);
      demand(call, tuple("ratelimit", namespace.id, "set_override"));
      return change(call, async ({ transaction, record, stale }) => {
        await refuseExcessPattern(transaction, namespace.id, input.identifier);
        const { rows } = await transaction.query<{ id: string }>(
          `INSERT INTO ratelimit_overrides
             (id, workspace_id, namespace_id, identifier, "limit", duration_ms)
           VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (namespace_id, identifier) DO UPDATE SET "limit" = excluded."limit",
             duration_ms = excluded.duration_ms, updated_at = now()
           RETURNING id`,
          [
            newId("override"),
            call.workspaceId,
            namespace.id,
            input.identifier,
            toBigint(input.limit),
            toBigint(input.duration),
          ],
        );
        const { id } = rows[0] as { id: string };
        stale(`namespace:${namespace.id}`);
        record({
          event: "ratelimit.set_override",
          description: `Set the override of ${input.identifier} in ${namespace.name}`,
          targets: [{ type: "ratelimitOverride", id, name: input.identifier }],
        });
        return { data: { overrideId: id } };
      });
    },
  });
}

export function getOverride({ namespaces }: RatelimitParts) {
  return procedure({
    summary: "Shows the override that applies to an identifier.",
    input: z.strictObject(target),
    output: OverrideOutput,
    refusals: [404],
    handle: async (input, call) => {
      const namespace = await namespaces.require(call, input.namespace);
      const urn = `unkey:v1:${call.workspaceId}:ratelimit/namespaces/${namespace.id}#read_override`;
      const mayRead =
        call.grants.allow(tuple("ratelimit", namespace.id, "read_override")) ||
        call.grants.allow(urn);
      const override = namespace.findOverride(input.identifier);
      // Who may not read it is told the same as who asks for nothing.
      if (override === undefined || !mayRead) throw overrideNotFound();
      return { data: describe(override) };
    },
  });
}

export function listOverrides({ namespaces, database }: RatelimitParts) {
  return procedure({
    summary: "Lists the overrides of a namespace.",
    input: z.strictObject({
      namespace: target.namespace,
      cursor: text().optional(),
      limit: pageSize(10),
    }),
    output: z.array(OverrideOutput),
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
      return { data: overrides.map(describe), pagination: page.pagination };
    },
  });
}

export function deleteOverride({ namespaces, change }: RatelimitParts) {
  return procedure({
    summary: "Removes the override of exactly this identifier or pattern.",
    input: z.strictObject(target),
    output: Empty,
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

function describe({ id, identifier, limit, durationMs }: Override) {
  return { overrideId: id, identifier, limit, duration: durationMs };
}

function overrideNotFound(): ApiError {
  return new ApiError(
    "unkey/data/ratelimit_override_not_found",
    "The requested override does not exist.",
  );
}
