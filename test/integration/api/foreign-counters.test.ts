/** What one workspace can do to the limits of another by calls of its own. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { createLocalLimiter } from "#api/ratelimit/limiter/local-limiter.ts";
import { startTestApi, type TestApi } from "../../support/api/api.ts";

const maxCells = 2_000;
const calls = 100;

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({ limiter: createLocalLimiter({ maxCells }) });
});

afterAll(() => api.stop());

const daily = { namespace: "exports", identifier: "customer", limit: 1, duration: 86_400_000 };

it("a workspace that calls multiLimit without end leaves another's daily limit used up", async () => {
  const attacker = await api.createWorkspace();
  const victim = await api.createWorkspace();
  const first = await api.call("ratelimit.limit", daily, victim.rootKey);
  expect(first.body.data.success).toBe(true);

  for (let call = 0; call < calls; call += 1) {
    const limits = Array.from({ length: 100 }, (_, one) => ({
      ...{ namespace: "flood", identifier: `${call * 100 + one}`, limit: 10, duration: 60_000 },
    }));
    const taken = await api.call("ratelimit.multiLimit", limits, attacker.rootKey);
    expect(taken.body.data.passed).toBe(true);
  }

  expect(calls * 100).toBeGreaterThan(2 * maxCells);
  const again = await api.call("ratelimit.limit", daily, victim.rootKey);
  expect(again.body.data.success).toBe(false);
});
