/** Counters of a fleet that floods, or of a sentinel that counts nonsense: others are compared as before. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { boundCounters, chooseBounds, countMinute } from "#fleet/counters/counters.ts";
import { readCountersOf } from "#fleet/drivers/process-child.ts";

const metricsOf = (started: string) =>
  `sentinel_requests_total 7\nsentinel_errors_total 1\nprocess_start_time_seconds ${started}\n`;

async function serve(text: string) {
  const server = createServer((_, response) => response.end(text));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return { healthPort: (server.address() as AddressInfo).port, privateToken: "t" };
}

it.each(["1e300", "-1e300", "NaN", "Infinity", "soon"])(
  "a sentinel that says it has started at %s hides no other's counters",
  async (started) => {
    const serving = [await serve(metricsOf("1700000000")), await serve(metricsOf(started))];

    const read = await readCountersOf(
      serving.map((one, i) => ({ id: `s-${i}`, serving: one }) as never),
    );

    expect(read.get("s-0")).toMatchObject({ requests: 7, errors: 1 });
  },
);

it("a fleet whose sentinels each have bounds of their own stores as many as one sentinel may have", () => {
  const snapshotOf = (count: number) =>
    new Map(
      Array.from({ length: 2_000 }, (_, i) => {
        const bounds = Array.from({ length: 250 }, (_, n) => [`${i * 250 + n + 1}`, count]);
        const given = { requests: count, errors: 0, latency: Object.fromEntries(bounds) };
        return [`s-${i}`, boundCounters(given) as NonNullable<ReturnType<typeof boundCounters>>];
      }),
    );

  const minute = countMinute(snapshotOf(1), snapshotOf(2), []);

  expect(JSON.stringify(minute.latency).length).toBeLessThan(10_000);
  expect(chooseBounds([], [minute])).toHaveLength(1);
});

it.each<[what: string, given: object]>([
  ["huge", { requests: 1e300, errors: 0 }],
  ["negative", { requests: -1, errors: 0 }],
  ["no numbers", { requests: "7", errors: 0 }],
  [
    "of many bounds",
    { latency: Object.fromEntries(Array.from({ length: 300 }, (_, n) => [n + 1, 1])) },
  ],
  ["of a bound with a long name", { latency: { ["1".repeat(30)]: 1 } }],
])("counters that are %s are none", (_, given) => {
  expect(boundCounters({ requests: 1, errors: 0, ...given })).toBeUndefined();
});

it("a sentinel with more fast requests than requests chooses no bound for its fleet", () => {
  const usual = { requests: 1_000, errors: 0, latency: { "0.001": 0, "0.1": 970, "1": 1_000 } };
  const hostile = { requests: 1, errors: 0, latency: { "0.001": 1e12, "0.1": 1e12, "1": 1e12 } };
  const none = { requests: 0, errors: 0, latency: { "0.001": 0, "0.1": 0, "1": 0 } };
  const before = new Map(["s-0", "s-1"].map((id) => [id, none]));

  const minute = countMinute(before, new Map(Object.entries({ "s-0": usual, "s-1": hostile })), []);

  expect(chooseBounds([], [minute])).toEqual([0.1]);
});
