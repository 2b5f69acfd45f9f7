import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchesOf, chunkOf, encodeRow } from "#api/analytics/batch.ts";

describe("a row as a line of JSON", () => {
  const value = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
    fc.boolean(),
    fc.array(fc.string({ unit: "binary" })),
  );

  it("says the same as JSON.stringify, on one line", () => {
    fc.assert(
      fc.property(fc.record({ one: value, two: value }), (row) => {
        const line = encodeRow(row);

        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(row)));
        expect(line).not.toContain("\n");
      }),
      { numRuns: 2_000 },
    );
  });

  it("replaces half a surrogate pair, in text and in lists", () => {
    expect(JSON.parse(encodeRow({ text: "a\ud800", list: ["\udc00b"] }))).toEqual({
      text: "a\ufffd",
      list: ["\ufffdb"],
    });
  });

  it("has no number beyond what the store's integers hold", () => {
    expect(encodeRow({ limit: 1e300 })).toBe('{"limit":9223372036854775000}');
  });

  it("says null for what is no number", () => {
    expect(encodeRow({ latency: Number.NaN })).toBe('{"latency":null}');
  });
});

describe("batches", () => {
  const lines = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => `{"n":${from + index}}`);

  it("are the same however the rows were chunked", () => {
    const all = lines(0, 12_345);
    const sizes = [0, 1, 4_999, 5_001, 2_344];
    let from = 0;
    const chunks = sizes.map((size) => {
      from += size;
      return size === 0 ? { rows: 0, text: "" } : chunkOf(all.slice(from - size, from));
    });

    const divided = [...batchesOf("id", { key_verifications_v1: [], ratelimits_v1: chunks })];
    const whole = [...batchesOf("id", { key_verifications_v1: [], ratelimits_v1: [chunkOf(all)] })];

    expect(divided.map(({ token, rows }) => [token, rows])).toEqual([
      ["id-ratelimits_v1-0", 5_000],
      ["id-ratelimits_v1-5000", 5_000],
      ["id-ratelimits_v1-10000", 2_345],
    ]);
    expect(divided).toEqual(whole);
    expect(Buffer.concat(divided.map(({ body }) => body)).toString()).toBe(`${all.join("\n")}\n`);
  });

  it("there are none without rows", () => {
    const none = { key_verifications_v1: [chunkOf([])], ratelimits_v1: [] };

    expect([...batchesOf("id", none)]).toEqual([]);
  });
});
