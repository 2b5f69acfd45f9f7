import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestAnalytics, type TestAnalytics } from "../../support/api/analytics.ts";
import { startTestApi, type TestApi } from "../../support/api/api.ts";
import { fuzzApi } from "../../support/api/fuzz.ts";

let analytics: TestAnalytics;
let api: TestApi;

beforeAll(async () => {
  analytics = await startTestAnalytics();
  api = await startTestApi({ analytics });
});

afterAll(async () => {
  await api?.stop();
  await analytics?.stop();
});

// `npm run bench:fuzz` sends 20,000, and other ones each time.
it("answers whatever it is sent by the contract, and never with a 5xx", { retry: 0 }, async () => {
  const report = await fuzzApi(api, { seed: 20_261_121, count: 1_000 });

  expect(report.faults).toEqual([]);
  expect(report.sent).toBe(1_000);
  expect(report.byStatus[200]).toBeGreaterThan(150);
  expect((await fetch(`${api.url}/v2/liveness`)).status).toBe(200);
});
