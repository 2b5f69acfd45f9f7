/** The rate limits of a key or an identity, as they are read and returned. */
import { z } from "zod";
import { presentList } from "./present.ts";
import type { RatelimitResponse } from "./resources.ts";

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
