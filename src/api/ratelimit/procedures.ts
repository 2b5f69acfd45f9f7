/** The namespace `ratelimit`: the key of an entry is the procedure's name. */
import type { Procedures } from "#api/procedure.ts";
import { limit, multiLimit } from "./limit.ts";
import { deleteOverride, getOverride, listOverrides, setOverride } from "./override-procedures.ts";
import type { RatelimitParts } from "./parts.ts";

export function ratelimitProcedures(parts: RatelimitParts): Procedures {
  return {
    deleteOverride: deleteOverride(parts),
    getOverride: getOverride(parts),
    limit: limit(parts),
    listOverrides: listOverrides(parts),
    multiLimit: multiLimit(parts),
    setOverride: setOverride(parts),
  };
}
