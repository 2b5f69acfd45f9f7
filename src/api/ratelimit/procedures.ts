/** The namespace `ratelimit`: the key of an entry is the procedure's name. */
import type { Procedures } from "#api/procedure.ts";
import { deleteOverride } from "./delete-override.ts";
import { getOverride } from "./get-override.ts";
import { limit } from "./limit.ts";
import { listOverrides } from "./list-overrides.ts";
import { multiLimit } from "./multi-limit.ts";
import type { RatelimitParts } from "./parts.ts";
import { setOverride } from "./set-override.ts";

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
