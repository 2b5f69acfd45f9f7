/** What several procedures of the namespace `permissions` take. */
import { z } from "zod";
import { pageSize, text } from "#api/schemas/schema.ts";

export const Description = text({ max: 512 });

/** Which page of a list. */
export const PageInput = z.strictObject({
  limit: pageSize(100),
  cursor: text({ max: 1_024 }).optional(),
  search: text({ max: 256 }).optional(),
});

/** A page of a list: `pattern` for ILIKE, `cursor` the first id, "" for the beginning. */
export type ListQuery = { workspaceId: string; limit: number; cursor: string; pattern: string };
