/** Wires the public API. */
import { getHeapStatistics } from "node:v8";
import { createKeyUses } from "#api/access/key-uses.ts";
import { createApi } from "#api/api.ts";
import { cachedKeysOf } from "#api/cache/cache-size.ts";
import { listenForInvalidations } from "#api/cache/invalidation.ts";
import { closeGracefully } from "#api/http/close.ts";
import { startLimiter } from "#api/ratelimit/limiter/start-limiter.ts";
import { listening } from "#kernel/listen.ts";
import type { Analytics } from "./analytics.ts";
import type { Base } from "./base.ts";
import type { ApiDatabase } from "./data.ts";
import { startRootKey } from "./own-keys.ts";
import { callersLimitMs, type Stops } from "./stops.ts";
import { createBaseKeyRing, startTls } from "./tls.ts";

export async function startApi(
  base: Base,
  parts: ApiDatabase & { analytics: Analytics; stops: Stops },
): Promise<string> {
  const { config, log, registry } = base;
  const { analytics, database, databaseUrl, directUrl, stops } = parts;
  const { host, port } = config.api;
  await startRootKey(base, database);
  const invalidations = listenForInvalidations(databaseUrl, log, directUrl);
  stops.add("invalidations", invalidations.close);
  const limiter = await startLimiter({ redisUrl: config.redis.url, log, registry });
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
    cachedKeys: config.api.cached_keys || cachedKeysOf(getHeapStatistics().heap_size_limit),
    region: config.api.region,
    docsUrl: config.api.error_docs_url,
    trustedProxies: config.api.trusted_proxies,
    validatesAnswers: config.api.validate_answers,
    registry,
    logsRequests: config.api.log_requests,
    noteUse: uses.note,
    isLeaving: base.departure.isAnnounced,
  });
  stops.add("API", () => closeGracefully(api), callersLimitMs);
  const url = await listening(api.listen({ host, port }), { port, setting: "api.port" });
  await startTls(base, { api, database, stops });
  return url;
}
