/** Wire shapes shared by several namespaces: ids, rate limits, identities, permissions, roles, pages. */
import { z } from "zod";
import { invalidInput } from "#api/error.ts";
import { Meta, patterned, presentList, text, whole } from "./schema.ts";

const identifierPattern = /^[a-zA-Z0-9_]+$/;
const slugPattern = /^[a-zA-Z0-9_:\-.*]+$/;
const externalIdPattern = /^[a-zA-Z0-9_.-]+$/;

export const KeyId = patterned(identifierPattern, { min: 3, max: 255 }).describe(
  "The id of the key, `key_…`: not the key itself.",
);
export const ApiId = patterned(identifierPattern, { min: 8, max: 255 }).describe(
  "The id of the API, `api_…`.",
);
export const ExternalId = patterned(externalIdPattern, { min: 1, max: 255 });
export const RoleName = text({ min: 1, max: 128 });
export const PermissionSlug = patterned(slugPattern, { min: 1, max: 128 });

/** A rate limit of a key or an identity. */
export const RatelimitRequest = z.strictObject({
  name: text({ min: 3, max: 128 }).describe(
    "By which a verification asks for the limit. Each limit of a key or identity has its own name.",
  ),
  limit: whole({ min: 1 }).describe("How much may be counted in one window."),
  duration: whole({ min: 1_000 }).describe("Length of a window in milliseconds, at least 1000."),
  autoApply: z
    .boolean()
    .describe(
      "Whether every verification counts against the limit; false: only those that name it.",
    ),
});
export type RatelimitRequest = z.infer<typeof RatelimitRequest>;

export const RatelimitResponse = z.object({
  id: z.string().describe("The id of the limit, `rl_…`."),
  name: z.string().describe("By which a verification asks for the limit."),
  limit: whole().describe("How much may be counted in one window."),
  duration: whole().describe("Length of a window in milliseconds."),
  autoApply: z
    .boolean()
    .describe(
      "Whether every verification counts against the limit; false: only those that name it.",
    ),
});
export type RatelimitResponse = z.infer<typeof RatelimitResponse>;

export const IdentityResponse = z
  .object({
    id: z.string().describe("The id of the identity here, `id_…`."),
    externalId: z.string().describe("The id of the same user or tenant in your own system."),
    meta: Meta.describe("The identity's metadata; absent when it has none.").optional(),
    ratelimits: z
      .array(RatelimitResponse)
      .describe("Limits that all keys of the identity share; absent when it has none.")
      .optional(),
  })
  .describe("A user or tenant of yours, to which keys belong.");
export type IdentityResponse = z.infer<typeof IdentityResponse>;

export const PermissionResponse = z
  .object({
    id: z.string().describe("The id of the permission, `perm_…`."),
    name: z.string().describe("Its name, for people."),
    slug: z.string().describe("By which keys are given it and verifications ask for it."),
    description: z
      .string()
      .describe("A longer text for people; absent when it has none.")
      .optional(),
  })
  .describe("A permission that keys and roles can be given.");
export type PermissionResponse = z.infer<typeof PermissionResponse>;

export const RoleResponse = z
  .object({
    id: z.string().describe("The id of the role, `role_…`."),
    name: z.string().describe("By which keys are given the role."),
    description: z
      .string()
      .describe("A longer text for people; absent when it has none.")
      .optional(),
    permissions: z
      .array(PermissionResponse)
      .describe("What each key with the role may do; absent when the role has no permissions.")
      .optional(),
  })
  .describe("A set of permissions that keys can be given together.");
export type RoleResponse = z.infer<typeof RoleResponse>;

/** The `data` of a procedure that returns nothing. */
export const Empty = z.object({}).describe("Always an empty object.");

export const pageSize = (preset: number) =>
  whole({ min: 1, max: 100 })
    .default(preset)
    .describe(`How many entries a page has at most, 1 to 100; absent: ${preset}.`);

/** A description for the reference page; the longest cursor differs between the lists. */
export const aboutCursor =
  "Where the page begins: `pagination.cursor` of the page before it; absent: the first page.";

export const Pagination = z
  .object({
    cursor: z
      .string()
      .describe("What to send as `cursor` for the next page; absent on the last one.")
      .optional(),
    hasMore: z.boolean().describe("Whether there is another page."),
  })
  .describe("Where the next page is.");
export type Pagination = z.infer<typeof Pagination>;

/** A limit of a key or an identity. */
export const RatelimitRule = z.object({
  id: z.string(),
  name: z.string(),
  limit: z.number(),
  durationMs: z.number(),
  autoApply: z.boolean(),
});
export type RatelimitRule = z.infer<typeof RatelimitRule>;

/** The limits of one owner as JSON; `owner` is a column of `key_ratelimits` and what it equals. */
export const rulesOf = (owner: string) => `
  (SELECT coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name, 'limit', r."limit",
     'durationMs', r.duration_ms, 'autoApply', r.auto_apply) ORDER BY r.name), '[]')
   FROM key_ratelimits r WHERE ${owner})`;

/** Limits as the wire has them; undefined when there are none. */
export function describeRules(rules: readonly RatelimitRule[]): RatelimitResponse[] | undefined {
  return presentList(
    rules.map(({ id, name, limit, durationMs, autoApply }) => ({
      id,
      name,
      limit,
      duration: durationMs,
      autoApply,
    })),
  );
}

/** Most bytes of a page: more at once would delay all other requests. */
export const pageBytes = 4 * 1024 * 1024;

/** `bytes`: about how large this row is in the answer; absent: small. */
type Row = { id: string; bytes?: number };

/** Cuts `rows` (read with `limit + 1`) to a page: fewer, at least one, beyond `pageBytes`. The cursor: the next id. */
export function toPage<One extends Row>(
  rows: readonly One[],
  limit: number,
): { rows: One[]; pagination: Pagination } {
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    bytes += row.bytes ?? 0;
    return index === limit || (index > 0 && bytes > pageBytes);
  });
  if (end === -1) return { rows: [...rows], pagination: { hasMore: false } };
  const cursor = (rows[end] as One).id;
  return { rows: rows.slice(0, end), pagination: { hasMore: true, cursor } };
}

/** `search` as a pattern for ILIKE: a substring, in which % and _ are literal. */
export function likePattern(search: string | undefined): string {
  return `%${(search ?? "").trim().replace(/[\\%_]/g, "\\$&")}%`;
}

/** A rate limit as a caller defines it. */
export const exampleLimit = { name: "requests", limit: 100, duration: 60_000, autoApply: true };

export const exampleIdentity: IdentityResponse = {
  id: "id_Zs6nB1xLq8Tf3RkD",
  externalId: "user_42",
  meta: { plan: "pro" },
};

export const examplePermission: PermissionResponse = {
  id: "perm_V5cXr8Jd2NwQk7Hz",
  name: "Read invoices",
  slug: "invoices.read",
  description: "Lists invoices and downloads them.",
};

export const exampleRole: RoleResponse = {
  id: "role_T9gLp3Fs6MbYx1Wc",
  name: "accountant",
  description: "Whoever keeps the books of a shop.",
  permissions: [examplePermission],
};

const mebibyte = 1024 * 1024;

/** `meta` as JSON. Throws the 400 above 1 MiB. */
export function checkMetaSize(meta: Record<string, unknown>): string {
  const json = JSON.stringify(meta);
  const plain = Buffer.byteLength(json);
  // Metadata that is too large as received is not examined further.
  const bytes = plain > mebibyte ? plain : plain + unfoldedBytes(meta, json);
  if (bytes <= mebibyte) return json;
  const megabytes = Math.max(1.1, bytes / mebibyte).toFixed(1);
  throw invalidInput(
    `Metadata is too large: it must be at most 1.0 MB, but is ${megabytes} MB. Please reduce its size.`,
  );
}

/** Counts the characters that Postgres adds by writing numbers without exponents: the five of 1e308 become 309. */
function unfoldedBytes(meta: Record<string, unknown>, json: string): number {
  if (!/\de[+-]\d/.test(json)) return 0;
  let bytes = 0;
  JSON.stringify(meta, (_, value) => {
    if (typeof value === "number") bytes += Math.abs(Number(String(value).split("e")[1] ?? 0));
    return value;
  });
  return bytes;
}
