/** The public API put together: its caches, its namespaces and its server. */
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { createLoadKeyRecord, tagsOfKey, weightOfKey } from "#api/cache/key-record.ts";
import { createFindKey } from "#api/keys/verify/find-key.ts";
import { createAuthenticate } from "./access/authenticate.ts";
import { analyticsProcedures } from "./analytics/procedures.ts";
import { apisProcedures } from "./apis/procedures.ts";
import { LiveCache, type Outage } from "./cache/live-cache.ts";
import { createMissGuard } from "./cache/miss-guard.ts";
import { createMakeChange } from "./changes/change.ts";
import { createAdmit } from "./http/admission.ts";
import { createServer } from "./http/server.ts";
import { identitiesProcedures } from "./identities/procedures.ts";
import type { VerifyParts } from "./keys/parts.ts";
import { keysProcedures } from "./keys/procedures.ts";
import { readCredits, spendCredits } from "./keys/verify/credits.ts";
import { countCaches, registerInvalidations } from "./metrics.ts";
import type { ApiParts, NamespaceParts } from "./parts.ts";
import { permissionProcedures } from "./permissions/permission-procedures.ts";
import { roleProcedures } from "./permissions/role-procedures.ts";
import type { Procedures } from "./procedure.ts";
import { createNamespaceStore } from "./ratelimit/namespaces.ts";
import { ratelimitProcedures } from "./ratelimit/procedures.ts";

export function createApi(parts: ApiParts): FastifyInstance {
  const { database, invalidations } = parts;
  const outage: Outage = {};
  const keyCache = new LiveCache({
    load: createLoadKeyRecord(database),
    tagsOf: tagsOfKey,
    invalidations,
    maxEntries: parts.cachedKeys,
    weightOf: weightOfKey,
    guard: createMissGuard(parts.nowMs, parts.laneWidth),
    outage,
  });
  const registry = parts.registry ?? new Registry();
  registerInvalidations(invalidations.isLive, registry);
  const change = createMakeChange({ database, invalidations });
  const ratelimitNamespaces = createNamespaceStore({ database, change, invalidations, outage });
  countCaches({ keys: keyCache, namespaces: ratelimitNamespaces.cache }, registry);
  return createServer({
    authenticate: createAuthenticate(keyCache, parts.recordUse),
    admit: createAdmit(parts.limiter),
    validatesAnswers: parts.validatesAnswers,
    log: parts.log,
    registry,
    logsRequests: parts.logsRequests === true,
    hasFastLane: parts.hasFastLane === true,
    isLeaving: parts.isLeaving ?? (() => false),
    docsUrl: parts.docsUrl,
    trustProxy: parts.trustedProxies.length > 0 ? parts.trustedProxies : false,
    namespaces: createNamespaces({ ...parts, keyCache, change, ratelimitNamespaces }),
  });
}

/** One line per namespace. */
export function createNamespaces(parts: NamespaceParts): Record<string, Procedures> {
  return {
    analytics: analyticsProcedures(parts),
    apis: apisProcedures(parts),
    identities: identitiesProcedures(parts),
    keys: keysProcedures({ ...parts, verify: verifyParts(parts) }),
    permissions: { ...permissionProcedures(parts), ...roleProcedures(parts) },
    ratelimit: ratelimitProcedures({ ...parts, namespaces: parts.ratelimitNamespaces }),
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
