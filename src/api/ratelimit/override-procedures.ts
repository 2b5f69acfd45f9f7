import type { ClientBase } from "pg";
import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import { invalidInput } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { demand, procedure } from "#api/procedure.ts";
import { aboutCursor, Empty, pageSize, toPage } from "#api/schemas/resources.ts";
import { text, toBigint, whole } from "#api/schemas/schema.ts";
import type { RatelimitParts } from "./decision.ts";
import {
  describeOverride,
  exampleOverride,
  type Override,
  OverrideOutput,
  overrideNotFound,
  overrideTarget,
} from "./overrides.ts";

export function getOverride({ namespaces }: RatelimitParts) {
  return procedure({
    summary: "Shows the override that applies to an identifier.",
    input: z.strictObject(overrideTarget),
    output: OverrideOutput,
    example: { body: { namespace: "emails", identifier: "user_42" }, data: exampleOverride },
    refusals: [404],
    handle: async (input, call) => {
      const namespace = await namespaces.require(call, input.namespace);
      const urn = `unkey:v1:${call.workspaceId}:ratelimit/namespaces/${namespace.id}#read_override`;
      const mayRead =
        call.grants.allow(tuple("ratelimit", namespace.id, "read_override")) ||
        call.grants.allow(urn);
      const override = namespace.findOverride(input.identifier);
      // An override that the caller may not read is answered like one that does not exist.
      if (override === undefined || !mayRead) throw overrideNotFound();
      return { data: describeOverride(override) };
    },
  });
}

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

export function setOverride({ namespaces, change }: RatelimitParts) {
  return procedure({
    summary: "Sets the limit of an identifier, or of all that a pattern with `*` matches.",
    input: z.strictObject({
      ...overrideTarget,
      limit: whole({ min: 0 }).describe(
        "How much may be counted in one window; 0 refuses everything.",
      ),
      duration: whole({ min: 1_000 }).describe(
        "Length of a window in milliseconds, at least 1000.",
      ),
    }),
    output: z.object({
      overrideId: z
        .string()
        .describe("The id of the override, `rlor_…`: of a changed one as before."),
    }),
    example: {
      body: {
        namespace: "emails",
        identifier: exampleOverride.identifier,
        limit: exampleOverride.limit,
        duration: exampleOverride.duration,
      },
      data: { overrideId: exampleOverride.overrideId },
    },
    refusals: [404],
    handle: async (input, call) => {
      const namespace = await namespaces.require(call, input.namespace);
      demand(call, tuple("ratelimit", namespace.id, "set_override"));
      return change(call, async ({ transaction, record, stale }) => {
        await refuseExcess(transaction, namespace.id, input.identifier);
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

const maxStars = 10;
const maxPatterns = 1_000;
/** All of a namespace are read, and in memory, together. */
const maxOverrides = 10_000;
const maxBytes = 2 * 1024 * 1024;

/** Throws the 400 for one too many. An existing one may always be changed. */
async function refuseExcess(
  transaction: ClientBase,
  namespaceId: string,
  identifier: string,
): Promise<void> {
  const stars = identifier.split("*").length - 1;
  const { rows } = await transaction.query<{ isFull: boolean; others: number; isThere: boolean }>(
    `SELECT count(*) >= $3 OR coalesce(sum(octet_length(identifier)), 0) >= $4 AS "isFull",
       count(*) FILTER (WHERE identifier LIKE '%*%')::int AS others,
       coalesce(bool_or(identifier = $2), false) AS "isThere"
     FROM ratelimit_overrides WHERE namespace_id = $1`,
    [namespaceId, identifier, maxOverrides, maxBytes],
  );
  const { isFull, others, isThere } = rows[0] as (typeof rows)[number];
  if (isThere) return;
  if (stars > maxStars) throw invalidInput(`A pattern may have at most ${maxStars} \`*\`.`);
  if (!isFull && (stars === 0 || others < maxPatterns)) return;
  const most = isFull
    ? `${maxOverrides} overrides, of 2 MiB together`
    : `${maxPatterns} overrides with \`*\``;
  throw invalidInput(
    `A namespace may have at most ${most}. Please delete some that are not needed any more.`,
  );
}

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
