/** The whole API with nothing behind it: for what it says of itself. */
import { createApi } from "#api/api.ts";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import { createLocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";
import { createLog } from "#kernel/log.ts";

export function unconnectedApi() {
  return createApi({
    database: {} as never,
    invalidations: {
      isLive: () => false,
      announce: async () => {},
      apply: () => {},
      subscribe: () => {},
      close: async () => {},
    },
    limiter: createLocalLimiter({ maxCells: 10_000 }),
    recorder: {
      verification: () => {},
      ratelimit: () => {},
    },
    keyRing: createKeyRing([`test:${Buffer.alloc(32, 7).toString("base64")}`]),
    analytics: undefined,
    cachedKeys: 1_000,
    region: "test",
    log: createLog({ level: "silent", format: "json" }),
    docsUrl: "",
    trustedProxies: [],
    validatesAnswers: true,
  });
}
