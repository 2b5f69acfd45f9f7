/** Schemas shared by procedures of the namespace `permissions`. */
import { z } from "zod";
import { aboutCursor, PermissionSlug, pageSize, RoleName } from "#api/schemas/resources.ts";
import { text } from "#api/schemas/schema.ts";

export const Description = text({ max: 512 }).describe(
  "A longer text for people, at most 512 characters; absent: none.",
);

export const PermissionRef = PermissionSlug.describe(
  "The id of the permission, `perm_…`, or its slug.",
);

export const RoleRef = RoleName.describe("The id of the role, `role_…`, or its name.");

/** The page of a list. */
export const PageInput = z.strictObject({
  limit: pageSize(100),
  cursor: text({ max: 1_024 }).describe(aboutCursor).optional(),
  search: text({ max: 256 })
    .describe("Part of the id, a name or the description, in whatever case; absent: all.")
    .optional(),
});

/** A page of a list: `pattern` for ILIKE, `cursor` the first id, "" for the beginning. */
export type ListQuery = { workspaceId: string; limit: number; cursor: string; pattern: string };
