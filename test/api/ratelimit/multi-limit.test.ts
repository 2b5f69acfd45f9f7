import { expect, it } from "vitest";
import { Grants } from "#api/access/grants.ts";
import type { AnalyticsRecorder } from "#api/analytics/recording/recorder.ts";
import type { Call } from "#api/procedure.ts";
import type { RatelimitParts } from "#api/ratelimit/decision.ts";
import { createLocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";
import { multiLimit } from "#api/ratelimit/procedures.ts";
import { neverAsked } from "../../support/never-asked.ts";

/** A namespace whose patterns take 10 ms to be tried on an identifier. */
const slowNamespace = {
  id: "rlns_slow",
  name: "slow",
  isDeleted: false,
  overrides: [],
  findOverride: () => {
    const startedAt = performance.now();
    while (performance.now() - startedAt < 10);
    return undefined;
  },
};

it("many limits with slow patterns let others have their turn in between", async () => {
  const limiter = createLocalLimiter({ maxCells: 10_000 });
  const parts: RatelimitParts = {
    ...neverAsked<RatelimitParts>(),
    namespaces: { ...neverAsked<RatelimitParts["namespaces"]>(), ensure: () => slowNamespace },
    limiter,
    recorder: { ratelimit: () => {} } satisfies Pick<AnalyticsRecorder, "ratelimit">,
  };
  const call = {
    ...neverAsked<Call>(),
    workspaceId: "ws_1",
    headers: {},
    grants: new Grants(["*"]),
    nowMs: Date.now(),
  };
  const input = { namespace: "slow", limit: 10, duration: 60_000, cost: 1 };
  let turns = 0;
  const others = setInterval(() => {
    turns += 1;
  }, 1);

  const inputs = Array.from({ length: 10 }, (_, n) => ({ ...input, identifier: `user_${n}` }));
  const { data } = await multiLimit(parts).handle(inputs, call);
  clearInterval(others);
  await limiter.close();

  expect(data).toMatchObject({ passed: true });
  expect(turns).toBeGreaterThanOrEqual(5);
});
