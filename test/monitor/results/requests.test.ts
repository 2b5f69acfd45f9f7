/** What no database takes is refused before it is asked: it would be taken for a fault of ours, and tried again. */
import { expect, it } from "vitest";
import { alertEventHandlers } from "#alerts/contract.ts";
import { checkReaders } from "#monitor/results/contract.ts";

const { History, Chart } = checkReaders;
const { List, Show, Retry } = alertEventHandlers;

it.each([
  [History, { check: "verify-key", location: "a\0b" }],
  [History, { check: "verify-key", location: "\ud83e" }],
  [History, { check: "verify-key", since: "0000-01-01T00:00:00Z" }],
  [History, { check: "verify-key", since: `2026-01-01T00:00:00.${"0".repeat(1_000)}Z` }],
  [Chart, { check: "verify-key", location: "a\0b" }],
  [List, { check: "a\0b" }],
  [Show, { event_id: "a\0b:1:opened" }],
  [Retry, { event_id: "\ud83e:1:opened" }],
])("a request is refused, %#", ({ input }, request) => {
  expect(input.safeParse(request).error?.issues).toHaveLength(1);
});

it.each([
  [History, { check: "verify-key", location: "eu-central-1", since: "2026-01-01T00:00:00Z" }],
  [List, { check: "verify-key" }],
  [Show, { event_id: "verify-key:3:opened" }],
])("a request is taken, %#", ({ input }, request) => {
  expect(input.safeParse(request).success).toBe(true);
});
