/** The public API put together: its caches, its namespaces and its server. */
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { createLoadKeyRecord, tagsOfKey, weightOfKey } from "#api/cache/key-record.ts";
import { ApiError } from "#api/error.ts";
import { createFindKey } from "#api/keys/verify/find-key.ts";
import type { LimitAnswer, Limiter, TakeAnswer } from "#api/limiter.ts";
import { type Caller, createAuthenticate } from "./access/authenticate.ts";
import { analyticsProcedures } from "./analytics/procedures.ts";
import { apisProcedures } from "./apis/procedures.ts";
import { LiveCache, type Outage } from "./cache/live-cache.ts";
import { createMissGuard } from "./cache/miss-guard.ts";
import { createMakeChange } from "./changes/change.ts";
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

const minuteMs = 60_000;

type Headers = Record<string, string>;

/** Counts a call; returns the headers that describe the limit, undefined without one. Throws the 429. */
function createAdmit(limiter: Limiter) {
  return (caller: Caller, nowMs: number): Headers | undefined | Promise<Headers> => {
    const { limitPerMinute: limit, workspaceId } = caller;
    if (limit === undefined) return undefined;
    const key = `workspace:${workspaceId}`;
    const taken = limiter.take([{ key, limit, durationMs: minuteMs, cost: 1 }], nowMs);
    return taken instanceof Promise
      ? taken.then((answer) => headersOf(answer, limit, nowMs))
      : headersOf(taken, limit, nowMs);
  };
}

function headersOf(taken: TakeAnswer, limit: number, nowMs: number): Headers {
  const { passed, remaining, resetMs } = taken.answers[0] as LimitAnswer;
  const resetSeconds = String(Math.max(0, Math.ceil((resetMs - nowMs) / 1_000)));
  const headers = {
    "RateLimit-Limit": String(limit),
    "RateLimit-Remaining": String(remaining),
    "RateLimit-Reset": resetSeconds,
  };
  if (passed) return headers;
  throw new ApiError(
    "user/too_many_requests/workspace_rate_limited",
    `This workspace has exceeded its API rate limit of ${limit}/1m0s. Please try again later.`,
    { headers: { ...headers, "Retry-After": resetSeconds } },
  );
}
