import { expect, it } from "vitest";
import { cachedKeysOf, weightOfKey } from "#api/cache/key-record.ts";
import { buildKeyRecord } from "../../support/api/key-builders.ts";

const megabytes = 1024 * 1024;

it.each([
  [256, 144_000],
  [1_024, 577_000],
  [4_096, 1_000_000],
])("of a heap of %i MB, about %i keys are kept", (limit, expected) => {
  const keys = cachedKeysOf(limit * megabytes);

  expect(Math.floor(keys / 1_000) * 1_000).toBe(expected);
});

it("an ordinary key takes the room of one", () => {
  const record = buildKeyRecord({
    meta: { plan: "pro" },
    identity: {},
    permissions: ["docs.read"],
  });

  expect(weightOfKey(record)).toBe(1);
});

it("a key takes the more room the more it carries", () => {
  const large = { text: "a".repeat(1_000_000) };

  expect(weightOfKey(buildKeyRecord({ meta: large }))).toBeGreaterThan(20_000);
  expect(weightOfKey(buildKeyRecord({ identity: { meta: large } }))).toBeGreaterThan(20_000);
  const permissions = Array.from({ length: 10_000 }, (_, n) => `docs.read.${n}`);
  expect(weightOfKey(buildKeyRecord({ permissions }))).toBeGreaterThan(500);
});
