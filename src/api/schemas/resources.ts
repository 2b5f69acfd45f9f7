/** Wire shapes shared by several namespaces: ids, rate limits, identities, permissions, roles, pages. */
import { z } from "zod";
import { Meta, patterned, text, whole } from "./schema.ts";

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

/** The number of rows of a page. */
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
