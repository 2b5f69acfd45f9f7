import { expect, it } from "vitest";
import { clientAddress, isAddressAllowed } from "#api/keys/allowlist.ts";

it.each([
  [["10.0.0.1"], "10.0.0.1", true],
  [["10.0.0.1"], "10.0.0.2", false],
  [["10.0.0.0/8"], "10.200.3.4", true],
  [["10.0.0.0/8"], "11.0.0.1", false],
  [["2001:db8::/32"], "2001:db8::1", true],
  [["2001:db8::1"], "2001:db8::2", false],
  [[" 10.0.0.1 ", "192.168.0.1"], "192.168.0.1", true],
  [["10.0.0.0/99", "nonsense"], "10.0.0.1", false],
  [["10.0.0.1"], "unknown", false],
])("%j lets %s through: %s", (entries, address, expected) => {
  expect(isAddressAllowed(entries, address)).toBe(expected);
});

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
