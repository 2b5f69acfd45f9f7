/** The public API put together: its caches, its namespaces and its server. */
import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { createAdmit } from "./admission.ts";
import type { Recorder } from "./analytics/recorder.ts";
import { apisProcedures } from "./apis/procedures.ts";
import { createAuthenticate } from "./authenticate.ts";
import { createMakeChange, type MakeChange } from "./change.ts";
import { identitiesProcedures } from "./identities/procedures.ts";
import type { Invalidations } from "./invalidation.ts";
import { readCredits, spendCredits } from "./keys/credits.ts";
import { createFindKey } from "./keys/find-key.ts";
import { KeyCache } from "./keys/key-cache.ts";
import { loadKeyRecord } from "./keys/key-record.ts";
import type { KeyRing } from "./keys/key-ring.ts";
import { keysProcedures } from "./keys/procedures.ts";
import type { VerifyParts } from "./keys/verify.ts";
import { countKeyCache, showInvalidations } from "./metrics.ts";
import { permissionsProcedures } from "./permissions/procedures.ts";
import type { Procedures } from "./procedure.ts";
import type { Limiter } from "./ratelimit/limiter.ts";
import { createServer } from "./server.ts";

export type ApiParts = {
  database: Database;
  invalidations: Invalidations;
  limiter: Limiter;
  recorder: Recorder;
  log: Log;
  /** Opens and seals recoverable keys. */
  keyRing: KeyRing;
  /** Where this process runs, for analytics. */
  region: string;
  /** See `ServerParts`. */
  docsUrl: string;
  trustedProxies: string[];
  validatesAnswers: boolean;
  registry: Registry;
  logsRequests: boolean;
};

/** What the namespaces are made of. */
export type NamespaceParts = ApiParts & { keyCache: KeyCache; change: MakeChange };

export function createApi(parts: ApiParts): FastifyInstance {
  const { database, invalidations } = parts;
  const keyCache = new KeyCache((keyHash) => loadKeyRecord(database, keyHash), invalidations);
  countKeyCache(keyCache, parts.registry);
  showInvalidations(invalidations.isLive, parts.registry);
  const change = createMakeChange({ database, invalidations });
  return createServer({
    authenticate: createAuthenticate((keyHash) => keyCache.get(keyHash)),
    admit: createAdmit(parts.limiter),
    validatesAnswers: parts.validatesAnswers,
    log: parts.log,
    registry: parts.registry,
    logsRequests: parts.logsRequests,
    docsUrl: parts.docsUrl,
    trustProxy: parts.trustedProxies.length > 0 ? parts.trustedProxies : false,
    namespaces: createNamespaces({ ...parts, keyCache, change }),
  });
}

/** One line per namespace. */
export function createNamespaces(parts: NamespaceParts): Record<string, Procedures> {
  return {
    apis: apisProcedures(parts),
    identities: identitiesProcedures(parts),
    keys: keysProcedures({ ...parts, verify: verifyParts(parts) }),
    permissions: permissionsProcedures(parts),
  };
}

function verifyParts(parts: NamespaceParts): VerifyParts {
  const { database, limiter, recorder, region, keyCache } = parts;
  return {
    findKey: createFindKey(keyCache, database),
    limiter,
    recorder,
    region,
    spendCredits: (keyId, cost) => spendCredits(database, keyId, cost),
    readCredits: (keyId) => readCredits(database, keyId),
  };
}
