/** The namespace `ratelimit`: the key of an entry is the procedure's name. */
import type { Recorder } from "#api/analytics/recorder.ts";
import type { MakeChange } from "#api/change.ts";
import type { Procedures } from "#api/procedure.ts";
import type { Database } from "#kernel/database.ts";
import { limit, multiLimit } from "./limit.ts";
import type { Limiter } from "./limiter.ts";
import type { Namespaces } from "./namespaces.ts";
import { deleteOverride, getOverride, listOverrides, setOverride } from "./override-procedures.ts";

export type RatelimitParts = {
  database: Database;
  change: MakeChange;
  namespaces: Namespaces;
  limiter: Limiter;
  recorder: Pick<Recorder, "ratelimit">;
};

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
