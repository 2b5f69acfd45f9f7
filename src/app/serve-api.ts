/** Wires the public API in one thread: the main one, and each further one alike. */
import type { AddressInfo } from "node:net";
import { getHeapStatistics } from "node:v8";
import type { FastifyInstance } from "fastify";
import { createKeyUses } from "#api/access/key-uses.ts";
import { createApi } from "#api/api.ts";
import type { Invalidations } from "#api/cache/invalidation.ts";
import { cachedKeysOf } from "#api/cache/key-record.ts";
import type { Cells } from "#api/ratelimit/limiter/cells.ts";
import { startLimiter } from "#api/ratelimit/limiter/start-limiter.ts";
import type { Database } from "#kernel/database.ts";
import { listening } from "#kernel/server.ts";
import type { Analytics } from "./analytics.ts";
import type { Base } from "./base.ts";
import { createBaseKeyRing } from "./https.ts";
import type { Stops } from "./stops.ts";

export type ServingParts = {
  database: Database;
  invalidations: Invalidations;
  /** The counters of limits, if threads share them. */
  cells?: Cells | undefined;
  analytics: Pick<Analytics, "recorder" | "reading">;
  /** Most keys that this thread caches. */
  cachedKeys: number;
  /** See `createMissGuard`. */
  laneWidth?: number | undefined;
  /** True if further threads listen at the same port. */
  reusePort: boolean;
  port: number;
  stops: Stops;
};

type ServedApi = { api: FastifyInstance; url: string; port: number };

/** Listens when it resolves. The caller closes it. */
export async function serveApi(base: Base, parts: ServingParts): Promise<ServedApi> {
  const { config, log, registry } = base;
  const { analytics, cachedKeys, cells, database, invalidations, port, reusePort, stops } = parts;
  const limiter = await startLimiter({ redisUrl: config.redis.url, log, registry, cells });
  stops.add("rate limits", limiter.close);
  const uses = createKeyUses(database, log);
  stops.add("key uses", uses.close);
  const api = createApi({
    database,
    invalidations,
    limiter,
    recorder: analytics.recorder,
    log,
    keyRing: createBaseKeyRing(base),
    analytics: analytics.reading,
    cachedKeys,
    laneWidth: parts.laneWidth,
    region: config.api.region,
    docsUrl: config.api.error_docs_url,
    trustedProxies: config.api.trusted_proxies,
    validatesAnswers: config.api.validate_answers,
    registry,
    logsRequests: config.api.log_requests,
    hasFastLane: config.api.fast_lane,
    recordUse: uses.record,
    isLeaving: base.departure.isAnnounced,
  });
  const at = { host: config.api.host, port, ...(reusePort && { reusePort }) };
  const url = await listening(api.listen(at), { port, setting: "api.port" });
  // Not that of the address, which names no usual port.
  const { port: taken } = api.server.address() as AddressInfo;
  return { api, url, port: taken };
}

/** Divides the cached keys among so many threads. */
export function cachedKeysPerThread({ config }: Base, threads: number): number {
  const all = config.api.cached_keys || cachedKeysOf(getHeapStatistics().heap_size_limit);
  return Math.ceil(all / threads);
}
