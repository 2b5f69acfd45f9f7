/** The parts that the procedures of the namespace `ratelimit` are given. */
import type { AnalyticsRecorder } from "#api/analytics/recording/recorder.ts";
import type { MakeChange } from "#api/changes/change.ts";
import type { Limiter } from "#api/limiter.ts";
import type { Database } from "#kernel/database.ts";
import type { Namespaces } from "./namespaces.ts";

export type RatelimitParts = {
  database: Database;
  change: MakeChange;
  namespaces: Namespaces;
  limiter: Limiter;
  recorder: Pick<AnalyticsRecorder, "ratelimit">;
};
