/** Wires the public API in one thread: the main one, and each further one alike. */
import { getHeapStatistics } from "node:v8";
import type { FastifyInstance } from "fastify";
import { createKeyUses } from "#api/access/key-uses.ts";
import { createApi } from "#api/api.ts";
import { cachedKeysOf } from "#api/cache/cache-size.ts";
import type { Invalidations } from "#api/cache/invalidation.ts";
import type { CellStore } from "#api/ratelimit/limiter/cells.ts";
import { startLimiter } from "#api/ratelimit/limiter/start-limiter.ts";
import type { Database } from "#kernel/database.ts";
import { listening } from "#kernel/listen.ts";
import type { Analytics } from "./analytics.ts";
import type { Base } from "./base.ts";
import { createBaseKeyRing } from "./https.ts";
import type { Stops } from "./stops.ts";

export type ServingParts = {
  database: Database;
  invalidations: Invalidations;
  /** The counters of limits, if threads share them. */
  cells?: CellStore;
  analytics: Pick<Analytics, "recorder" | "reading">;
  /** How many threads serve it. */
  threads: number;
  port: number;
  stops: Stops;
};

export type ServedApi = { api: FastifyInstance; url: string };

/** Listens when it resolves. The caller closes it. */
export async function serveApi(base: Base, parts: ServingParts): Promise<ServedApi> {
  const { config, log, registry } = base;
  const { analytics, cells, database, invalidations, port, stops, threads } = parts;
  const limiter = await startLimiter({
    redisUrl: config.redis.url,
    log,
    registry,
    ...(cells !== undefined && { cells }),
  });
  stops.add("rate limits", limiter.close);
  const uses = createKeyUses(database, log);
  stops.add("key uses", uses.close);
  const cachedKeys = config.api.cached_keys || cachedKeysOf(getHeapStatistics().heap_size_limit);
  const api = createApi({
    database,
    invalidations,
    limiter,
    recorder: analytics.recorder,
    log,
    keyRing: createBaseKeyRing(base),
    analytics: analytics.reading,
    cachedKeys: Math.ceil(cachedKeys / threads),
    region: config.api.region,
    docsUrl: config.api.error_docs_url,
    trustedProxies: config.api.trusted_proxies,
    validatesAnswers: config.api.validate_answers,
    registry,
    logsRequests: config.api.log_requests,
    noteUse: uses.note,
    isLeaving: base.departure.isAnnounced,
  });
  const at = { host: config.api.host, port, ...(threads > 1 && { reusePort: true }) };
  return { api, url: await listening(api.listen(at), { port, setting: "api.port" }) };
}
