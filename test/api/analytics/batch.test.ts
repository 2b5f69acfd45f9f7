import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchesOf, chunkOf, encodeChunk } from "#api/analytics/batch.ts";

describe("rows as lines of JSON", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string(),
    fc.constantFrom("},{", '"},{"', "a},{b", "\\ud800", "\n", "},\n{", "\ud83d\ude00"),
  );
  const value = fc.oneof(
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
    fc.boolean(),
    fc.array(text),
  );
  const row = fc.record({ one: value, two: value, limit: fc.maxSafeNat() });

  const linesOf = (...rows: object[]) => encodeChunk(rows).text.split("\n");

  it("say the same as JSON.stringify, each on one line", () => {
    const wellFormed = (_: string, part: unknown) =>
      typeof part === "string" ? part.toWellFormed() : part;

    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), (rows) => {
        const lines = linesOf(...rows);

        expect(lines).toEqual(rows.map((one) => JSON.stringify(one, wellFormed)));
        expect(encodeChunk(rows).rows).toBe(rows.length);
      }),
      { numRuns: 5_000 },
    );
  });

  it("replace half a surrogate pair, in text and in lists", () => {
    const lines = linesOf({ text: "a" }, { text: "a\ud800", list: ["\udc00b"] });

    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { text: "a" },
      { text: "a\ufffd", list: ["\ufffdb"] },
    ]);
  });

  it.each(["limit", "remaining", "tokens", "spent_credits"])(
    "have no %s beyond what the store's integers hold",
    (name) => {
      expect(linesOf({ [name]: 7 }, { [name]: 1e300 })).toEqual([
        `{"${name}":7}`,
        `{"${name}":9223372036854775000}`,
      ]);
    },
  );

  it("say null for what is no number", () => {
    expect(linesOf({ latency: Number.NaN })).toEqual(['{"latency":null}']);
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
