import { expect, it, vi } from "vitest";
import type { KeyRecord } from "#api/cache/key-record.ts";
import { LiveCache } from "#api/cache/live-cache.ts";
import { createMissGuard } from "#api/cache/miss-guard.ts";
import { createFindKey } from "#api/keys/verify/find-key.ts";
import type { VerifyInput } from "#api/keys/verify/schemas.ts";
import type { Call } from "#api/procedure.ts";
import type { Database } from "#kernel/database.ts";

it("the lookup finds keys of a migration within the budget of guesses", async () => {
  const { promise: never } = Promise.withResolvers<never>();
  const query = vi.fn(() => never);
  const keyCache = new LiveCache<KeyRecord>({
    load: async () => undefined,
    tagsOf: () => [],
    invalidations: { isLive: () => true, subscribe: () => {} },
    maxEntries: 10,
    guard: createMissGuard(),
  });
  const findKey = createFindKey(keyCache, { query } as unknown as Database);
  const call = { workspaceId: "ws_1", headers: {}, remoteIp: "192.0.2.1" } as unknown as Call;

  for (let n = 0; n < 1_000; n += 1) {
    void findKey("guess", { migrationId: "migration_1" } as VerifyInput, call);
  }

  await vi.waitFor(() => expect(query).toHaveBeenCalled());
  await new Promise((resolve) => setImmediate(resolve));
  // One miss is charged already.
  expect(query.mock.calls.length).toBeLessThanOrEqual(199);
});
