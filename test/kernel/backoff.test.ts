import { expect, it } from "vitest";
import { backoffMs } from "#kernel/async.ts";

it.each([
  { failures: 0, waitMs: 100 },
  { failures: 1, waitMs: 200 },
  { failures: 4, waitMs: 1_600 },
  { failures: 5, waitMs: 2_000 },
  { failures: 1e6, waitMs: 2_000 },
])("waits $waitMs ms after $failures failures before", ({ failures, waitMs }) => {
  expect(backoffMs(failures, { firstMs: 100, longestMs: 2_000 })).toBe(waitMs);
});
