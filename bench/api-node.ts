/**
 * One process of the measurements of the public API, started by api-fixture.ts. `floor` answers a
 * constant JSON to the same POST with the same Fastify; `api` is the API as `npm start` runs it, with
 * BENCH_REDIS_URL on that Redis; BENCH_FAST_LANE=0: without the fast lane.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type FastifyInstance, fastify } from "fastify";
import { Registry } from "prom-client";
import { Journal } from "#api/analytics/recording/journal.ts";
import { createOutbox } from "#api/analytics/recording/outbox.ts";
import { createRecorder } from "#api/analytics/recording/recorder.ts";
import { openSpool } from "#api/analytics/recording/spool.ts";
import { createApi } from "#api/api.ts";
import { listenForInvalidations } from "#api/cache/invalidation.ts";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import { startLimiter } from "#api/ratelimit/limiter/start-limiter.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { isTracingWanted } from "#kernel/tracing.ts";
import { createMetricsServer } from "#metrics/server.ts";

const log = createLog({ level: "silent", format: "json" });

/** An answer as long as that of verifyKey. */
const constant = {
  meta: { requestId: "req_0123456789abcdef" },
  data: { valid: true, code: "VALID", keyId: "key_0123456789abcdef", enabled: true },
};

function createFloor(): FastifyInstance {
  const app = fastify();
  app.post("/*", async () => constant);
  return app;
}

async function createReal(databaseUrl: string): Promise<FastifyInstance> {
  const database = openDatabase(databaseUrl, log);
  const invalidations = listenForInvalidations(databaseUrl, log);
  const dir = mkdtempSync(path.join(tmpdir(), "vedette-bench-spool-"));
  const spool = await openSpool({ dir, maxBytes: 256 * 1024 * 1024 });
  // A store that accepts everything at once, to measure only what recording costs in this process.
  const journal = new Journal({ dir, log });
  const outbox = createOutbox({ spool, insert: async () => {}, log });
  const recorder = createRecorder({ outbox, journal, log });
  const redisUrl = process.env["BENCH_REDIS_URL"] ?? "";
  const limiter = await startLimiter({ redisUrl, log, registry });
  const app = createApi({
    database,
    invalidations,
    limiter,
    recorder,
    log,
    registry,
    keyRing: createKeyRing([`bench:${Buffer.alloc(32, 7).toString("base64")}`]),
    analytics: undefined,
    cachedKeys: 1_000_000,
    region: "bench",
    docsUrl: "",
    trustedProxies: [],
    validatesAnswers: false,
    hasFastLane: process.env["BENCH_FAST_LANE"] !== "0",
  });
  app.addHook("onClose", async () => {
    await limiter.close();
    await recorder.close();
    await invalidations.close();
    await database.end();
    rmSync(dir, { recursive: true, force: true });
  });
  while (!invalidations.isLive()) await delay(20);
  return app;
}

const registry = new Registry();
if (isTracingWanted(process.env)) {
  const { exportTraces } = await import("#kernel/trace-exporter.ts");
  exportTraces(process.env, log);
}
const app =
  process.env["BENCH_KIND"] === "floor"
    ? createFloor()
    : await createReal(process.env["DATABASE_URL"] ?? "");
const loopback = { host: "127.0.0.1", port: 0 };
const url = await app.listen(loopback);
const metrics = createMetricsServer(registry, () => ({ status: "ready", dependencies: {} }));
process.send?.({ url, metricsUrl: `${await metrics.listen(loopback)}/metrics` });
process.once("SIGTERM", async () => {
  await metrics.close();
  await app.close();
  process.exit();
});
