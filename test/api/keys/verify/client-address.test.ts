import { expect, it } from "vitest";
import { clientAddress } from "#api/keys/verify/find-key.ts";

it.each([
  ["203.0.113.7", "203.0.113.7"],
  ["203.0.113.7:4711", "203.0.113.7"],
  ["203.0.113.7, 10.0.0.1", "203.0.113.7"],
  ["[2001:db8::1]:4711", "2001:db8::1"],
  ["2001:db8::1", "2001:db8::1"],
  ["", "10.9.9.9"],
  [undefined, "10.9.9.9"],
])("X-Forwarded-For %j is about %s", (header, expected) => {
  expect(clientAddress(header, "10.9.9.9")).toBe(expected);
});
