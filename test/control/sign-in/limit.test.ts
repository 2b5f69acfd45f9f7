import { expect, it } from "vitest";
import { createLimit, networkOf } from "#control/sign-in/core.ts";

it("limits each address by itself, for a minute, and says which refusal is the first", () => {
  const judge = createLimit(2);

  const verdicts = [
    judge("192.0.2.1", 0),
    judge("192.0.2.1", 1),
    judge("192.0.2.1", 59_998),
    judge("192.0.2.1", 59_999),
    judge("192.0.2.2", 59_999),
    judge("192.0.2.1", 60_000),
  ];

  expect(verdicts).toEqual(["within", "within", "is-first", "refused", "within", "within"]);
});

it.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:0001:2::9", "2001:db8:1:2::/64"],
  ["2001:db8::9", "2001:db8:0:0::/64"],
  ["2001:db8:0:0:1::", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("the limit counts %s as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
