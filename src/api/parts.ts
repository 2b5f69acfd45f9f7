/** The parts of the public API. */
import type { Registry } from "prom-client";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import type { RecordUse } from "./access/key-uses.ts";
import type { AnalyticsParts } from "./analytics/parts.ts";
import type { AnalyticsRecorder } from "./analytics/recording/recorder.ts";
import type { Invalidations } from "./cache/invalidation.ts";
import type { KeyRecord } from "./cache/key-record.ts";
import type { LiveCache } from "./cache/live-cache.ts";
import type { MakeChange } from "./changes/change.ts";
import type { KeyRing } from "./keys/recoverable/key-ring.ts";
import type { Limiter } from "./limiter.ts";
import type { Namespaces } from "./ratelimit/namespaces.ts";

export type ApiParts = {
  database: Database;
  invalidations: Invalidations;
  limiter: Limiter;
  recorder: Pick<AnalyticsRecorder, "verification" | "ratelimit">;
  /** The analytics store that queries read; undefined: there is none. */
  analytics: AnalyticsParts["analytics"];
  log: Log;
  /** Opens and seals recoverable keys. */
  keyRing: KeyRing;
  /** Most keys that are cached. */
  cachedKeys: number;
  /** See `createMissGuard`. */
  laneWidth?: number | undefined;
  /** The clock of those budgets. */
  nowMs?: () => number;
  /** Location of this process, for analytics. */
  region: string;
  /** See `ServerParts`. */
  docsUrl: string;
  trustedProxies: string[];
  validatesAnswers: boolean;
  /** The registry of its metrics; absent: one of its own. */
  registry?: Registry;
  /** A log line per request. */
  logsRequests?: boolean;
  /** See `ServerParts`. */
  hasFastLane?: boolean;
  /** Called at each use of a root key. */
  recordUse?: RecordUse;
  /** See `ServerParts`. */
  isLeaving?: () => boolean;
};

/** The parts of the namespaces. */
export type NamespaceParts = ApiParts & {
  keyCache: LiveCache<KeyRecord>;
  change: MakeChange;
  ratelimitNamespaces: Namespaces;
};
