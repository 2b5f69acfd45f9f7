import { expect, it } from "vitest";
import { isListed } from "#kernel/address.ts";

it.each([
  [["10.0.0.1"], "10.0.0.1", true],
  [["10.0.0.1"], "10.0.0.2", false],
  [["10.0.0.0/8"], "10.200.3.4", true],
  [["10.0.0.0/8"], "11.0.0.1", false],
  [["10.0.0.0/8"], "::ffff:10.1.2.3", true],
  [["2001:db8::/32"], "2001:db8::1", true],
  [["2001:db8::1"], "2001:db8::2", false],
  [[" 10.0.0.1 ", "192.168.0.1"], "192.168.0.1", true],
  [["10.0.0.0/99", "nonsense"], "10.0.0.1", false],
  [["10.0.0.1"], "unknown", false],
  [["fe80::/10"], "fe80::1%eth0", true],
  [["nonsense"], "fe80::1%eth0", false],
])("%j holds %s: %s", (entries, address, expected) => {
  expect(isListed(entries, address)).toBe(expected);
});
