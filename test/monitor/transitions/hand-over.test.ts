import type { ObjectContext } from "@restatedev/restate-sdk";
import { expect, it } from "vitest";
import { nextTakenAtMs } from "#monitor/transitions/hand-over.ts";

/** The context of an object whose last snapshot was taken at `takenAtMs`. */
function contextOf(takenAtMs: number | null): ObjectContext {
  const context = { get: async () => takenAtMs, set: () => {} };
  return context as unknown as ObjectContext;
}

it.each([
  ["none", null, 300_000, 300_000],
  ["one of the same time", 300_000, 300_000, 300_001],
  ["one of a clock that was a year ahead", 31_536_300_000, 300_000, 31_536_300_001],
])("a snapshot after %s is later than it", async (_, before, atMs, taken) => {
  expect(await nextTakenAtMs(contextOf(before), atMs)).toBe(taken);
});
