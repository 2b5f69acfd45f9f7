/** Wires the public API of a process: in its main thread, and in further ones. */
import {
  type Invalidations,
  listenForInvalidations,
  receiveInvalidations,
} from "#api/cache/invalidation.ts";
import {
  createInvalidationRelay,
  createThreadInvalidations,
} from "#api/cache/thread-invalidations.ts";
import { closeGracefully } from "#api/http/close.ts";
import { SharedCells } from "#api/ratelimit/limiter/shared-cells.ts";
import { createThreads, threadsOf } from "#app/threads/threads.ts";
import { requireFreePort } from "#kernel/server.ts";
import type { Analytics } from "./analytics.ts";
import type { Base } from "./base.ts";
import type { ApiDatabase } from "./data.ts";
import { startTls } from "./https.ts";
import type { Metrics } from "./metrics.ts";
import { startRootKey } from "./own-keys.ts";
import { cachedKeysPerThread, serveApi } from "./serve-api.ts";
import { callersLimitMs, type Stops } from "./stops.ts";
import { createThreadMemory, type ThreadMemory } from "./threads/contract.ts";

export type Api = {
  url: string;
  /** Starts its further threads, in the background. */
  populate: () => void;
};

type StartParts = ApiDatabase & { analytics: Analytics; metrics: Metrics; stops: Stops };

export async function startApi(base: Base, parts: StartParts): Promise<Api> {
  await startRootKey(base, parts.database);
  const threads = threadsOf(base.config.api);
  return threads === 1 ? startAlone(base, parts) : startShared(base, parts, threads);
}

/** Serves with the main thread only. */
async function startAlone(base: Base, parts: StartParts): Promise<Api> {
  const { analytics, database, databaseUrl, directUrl, stops } = parts;
  const invalidations = listenForInvalidations(databaseUrl, base.log, directUrl);
  stops.add("invalidations", invalidations.close);
  const { port } = base.config.api;
  const { api, url } = await serveApi(base, {
    ...{ database, invalidations, analytics, port, stops },
    cachedKeys: cachedKeysPerThread(base, 1),
    reusePort: false,
  });
  stops.add("API", () => closeGracefully(api), callersLimitMs);
  await startTls(base, { api, database, stops, reusePort: false });
  return { url, populate: () => {} };
}

/** Serves with further threads, which share limits and invalidations by memory, and the port. */
async function startShared(base: Base, parts: StartParts, threads: number): Promise<Api> {
  const { analytics, database, databaseUrl, metrics, stops } = parts;
  const { host, port } = base.config.api;
  const memory = createThreadMemory();
  const invalidations = startInvalidations(base, memory, parts);
  const cells = new SharedCells(memory.cells, { sweeps: true });
  const cachedKeys = cachedKeysPerThread(base, threads);
  await requireFreePort({ host, port, setting: "api.port" });
  const serving = { database, invalidations, analytics, cachedKeys, cells, reusePort: true, stops };
  const served = await serveApi(base, { ...serving, port });
  stops.add("API", () => closeGracefully(served.api), callersLimitMs);
  const https = await startTls(base, { api: served.api, database, stops, reusePort: true });
  const { config, credentials, dataDir } = base;
  const { shared } = analytics;
  const further = createThreads(base, {
    ...{ memory, threads, analytics: shared },
    data: {
      ...{ config, credentials, dataDir, databaseUrl, cachedKeys },
      ports: { http: served.port, https: https?.port },
      analytics: shared && { database: shared.engine.database, retention: shared.retention },
    },
  });
  // All at the same time: each lets its callers finish, and none answers for one that is closed.
  const stop = () => Promise.all([https?.close(), further.stop(), closeGracefully(served.api)]);
  stops.add("API threads", stop, callersLimitMs);
  metrics.include(further.metrics);
  return { url: served.url, populate: further.begin };
}

/** Listens for all threads. */
function startInvalidations(base: Base, memory: ThreadMemory, parts: StartParts): Invalidations {
  const { databaseUrl, directUrl: listenUrl, stops } = parts;
  const relay = createInvalidationRelay(memory.invalidations);
  const listener = receiveInvalidations({ databaseUrl, listenUrl, log: base.log, ...relay });
  stops.add("invalidations heard", listener.close);
  const invalidations = createThreadInvalidations(memory.invalidations);
  stops.add("invalidations", invalidations.close);
  return invalidations;
}
