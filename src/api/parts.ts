import type { Registry } from "prom-client";
import type { RecordUse } from "#api/access/key-uses.ts";
import type { AnalyticsParts } from "#api/analytics/parts.ts";
import type { AnalyticsRecorder } from "#api/analytics/recording/recorder.ts";
import type { Invalidations } from "#api/cache/invalidation.ts";
import type { KeyRecord } from "#api/cache/key-record.ts";
import type { LiveCache } from "#api/cache/live-cache.ts";
import type { MakeChange } from "#api/changes/change.ts";
import type { KeyRing } from "#api/keys/recoverable/key-ring.ts";
import type { Namespaces } from "#api/ratelimit/namespaces.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import type { Limiter } from "./limiter.ts";

export type ApiParts = {
  database: Database;
  invalidations: Invalidations;
  limiter: Limiter;
  recorder: Pick<AnalyticsRecorder, "verification" | "ratelimit">;
  analytics: AnalyticsParts["analytics"];
  log: Log;
  /** Opens and seals recoverable keys. */
  keyRing: KeyRing;
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

export type NamespaceParts = ApiParts & {
  keyCache: LiveCache<KeyRecord>;
  change: MakeChange;
  ratelimitNamespaces: Namespaces;
};

export type ApisParts = Pick<NamespaceParts, "database" | "change" | "keyRing">;
