import { expect, it } from "vitest";
import { cachedKeysOf } from "#api/keys/cache-size.ts";

const megabytes = 1024 * 1024;

it.each([
  [256, 144_000],
  [1_024, 577_000],
  [4_096, 1_000_000],
])("of a heap of %i MB, about %i keys are kept", (limit, expected) => {
  const keys = cachedKeysOf(limit * megabytes);

  expect(Math.floor(keys / 1_000) * 1_000).toBe(expected);
});
