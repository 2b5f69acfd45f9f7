/** What the public API is made of. */
import type { Registry } from "prom-client";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import type { NoteUse } from "./access/key-uses.ts";
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
  /** Where what was recorded is read; undefined: nowhere. */
  analytics: AnalyticsParts["analytics"];
  log: Log;
  /** Opens and seals recoverable keys. */
  keyRing: KeyRing;
  /** How many keys are kept in memory at most. */
  cachedKeys: number;
  /** Where this process runs, for analytics. */
  region: string;
  /** See `ServerParts`. */
  docsUrl: string;
  trustedProxies: string[];
  validatesAnswers: boolean;
  /** Where it is counted what is done; absent: nowhere. */
  registry?: Registry;
  /** A log line per request. */
  logsRequests?: boolean;
  /** Told of each use of a root key; absent: nobody. */
  noteUse?: NoteUse;
  /** See `ServerParts`. */
  isLeaving?: () => boolean;
};

/** What the namespaces are made of. */
export type NamespaceParts = ApiParts & {
  keyCache: LiveCache<KeyRecord>;
  change: MakeChange;
  ratelimitNamespaces: Namespaces;
};
