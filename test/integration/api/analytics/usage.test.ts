import { afterAll, beforeAll, expect, it } from "vitest";
import { createReadLastUses, createReadOutcomes, createReadUsage } from "#api/analytics/usage.ts";
import { startTestAnalytics, type TestAnalytics } from "../../../support/api/analytics.ts";
import { encodeBatch, ratelimitRow, verificationRow } from "../../../support/api/analytics-rows.ts";

const nowMs = Date.now();
const today = Math.floor(nowMs / 86_400_000) * 86_400_000;
let analytics: TestAnalytics;

beforeAll(async () => {
  analytics = await startTestAnalytics();
  const signal = new AbortController().signal;
  const used = (key_id: string, ms: number, outcome = "VALID") =>
    verificationRow({ key_id, outcome, time: nowMs - ms, workspace_id: "ws_1" });
  const verifications = [
    used("key_a", 2_000),
    used("key_a", 1_000),
    used("key_b", 3_000, "RATE_LIMITED"),
    verificationRow({ workspace_id: "ws_2", key_id: "key_c", time: nowMs - 500 }),
  ];
  const limits = [true, true, false].map((passed) => ratelimitRow({ passed, time: nowMs }));
  await analytics.store.insert(encodeBatch("key_verifications_v1", verifications), signal);
  await analytics.store.insert(encodeBatch("ratelimits_v1", limits), signal);
});

afterAll(async () => {
  await analytics?.stop();
});

it("sums up what is billed of each workspace that is asked for", async () => {
  const usage = await createReadUsage(analytics.store)(["ws_1", "ws_none"], today - 86_400_000);

  expect([...usage]).toEqual([["ws_1", 4]]);
});

it("finds the last use of each key, the earliest first", async () => {
  const { uses, isDone } = await createReadLastUses(analytics.store)(null, nowMs);

  expect(uses).toEqual([
    { keyId: "key_b", timeMs: nowMs - 3_000 },
    { keyId: "key_a", timeMs: nowMs - 1_000 },
    { keyId: "key_c", timeMs: nowMs - 500 },
  ]);
  expect(isDone).toBe(true);
});

it("goes on after the cursor, and back over what may have come late once it is through", async () => {
  const read = createReadLastUses(analytics.store);

  const after = await read(`${nowMs - 1_000}/key_a`, nowMs);

  expect(after.uses.map(({ keyId }) => keyId)).toEqual(["key_c"]);
  expect(after.cursor).toBe(`${nowMs - 600_000}/`);
});

it.each([
  ["one", ""],
  ["several", `${nowMs}/key_z/`],
])(
  "comes back to what it missed, of which more may come late, when it reads %s batches",
  async (_, batch) => {
    const fromMs = nowMs - 4 * 3_600_000;

    const { cursor, isDone } = await createReadLastUses(analytics.store)(
      `${batch}${fromMs}`,
      nowMs,
    );

    expect({ cursor, isDone }).toEqual({ cursor: `${fromMs + 8 * 60_000}/`, isDone: true });
  },
);

it("tells the outcomes of a workspace over time, and of the key spaces asked for", async () => {
  const span = { fromMs: nowMs - 3_600_000, nowMs };
  const read = createReadOutcomes(analytics.store);

  const { overTime, ofKeySpaces } = await read("ws_1", span, ["ks_1", "ks_none"]);

  const counts = Map.groupBy(overTime, ({ outcome }) => outcome);
  const sum = (outcome: string) => counts.get(outcome)?.reduce((total, { n }) => total + n, 0);
  expect({ valid: sum("VALID"), limited: sum("RATE_LIMITED") }).toEqual({ valid: 2, limited: 1 });
  expect(overTime.every(({ atMs }) => atMs <= nowMs)).toBe(true);
  expect(ofKeySpaces).toEqual([
    { keySpaceId: "ks_1", outcome: "RATE_LIMITED", n: 1 },
    { keySpaceId: "ks_1", outcome: "VALID", n: 2 },
  ]);
});

it("tells the outcomes of a month that was busy in each hour, by as many APIs as there are", async () => {
  const hourMs = 3_600_000;
  const spaces = Array.from({ length: 14 }, (_, index) => `ks_busy_${index}`);
  const { signal } = new AbortController();
  for (let first = 0; first < 720; first += 240) {
    const rows = Array.from({ length: 240 }, (_, hour) => nowMs - (first + hour) * hourMs).flatMap(
      (time) =>
        spaces.map((key_space_id) =>
          verificationRow({ workspace_id: "ws_busy", key_space_id, time }),
        ),
    );
    await analytics.store.insert(encodeBatch("key_verifications_v1", rows), signal);
  }

  const span = { fromMs: nowMs - 720 * hourMs, nowMs };
  const { overTime, ofKeySpaces } = await createReadOutcomes(analytics.store)(
    "ws_busy",
    span,
    spaces,
  );

  expect(overTime).toHaveLength(720);
  expect(ofKeySpaces.map(({ n }) => n)).toEqual(spaces.map(() => 720));
});
