/** Grades of answers of DNS, and of the days of a certificate. */
import { describe, expect, it } from "vitest";
import { faultOfRecords } from "#monitor/kinds/dns.ts";
import { gradeDays } from "#monitor/kinds/tls.ts";

describe("the days of a certificate", () => {
  const limits = { degradedBelowDays: 30, failedBelowDays: 7 };

  it.each([
    [30, undefined],
    [29, "degraded"],
    [7, "degraded"],
    [6, "failed"],
    [-1, "failed"],
    [null, "failed"],
  ])("%s: %s", (days, wanted) => {
    expect(gradeDays(limits, days)?.grade).toBe(wanted);
  });
});

it("a text of DNS is compared as it is", () => {
  expect(faultOfRecords({ type: "TXT", expect: ["A."] }, ["a."])).not.toBeNull();
  expect(faultOfRecords({ type: "TXT", expect: ["A."] }, ["b", "A."])).toBeNull();
});

it("an address of IPv6 may be written with its zeros", () => {
  const expected = { type: "AAAA" as const, expect: ["2001:DB8:0:0::1"] };

  expect(faultOfRecords(expected, ["2001:db8::1"])).toBeNull();
  expect(faultOfRecords(expected, ["2001:db8::2"])).not.toBeNull();
});

it("the grade names a few of many records", () => {
  const fault = faultOfRecords({ type: "A", expect: ["x"] }, Array(9).fill("1"));

  expect(fault).toBe('A is "1", "1", "1", "1", "1" and 4 more, expected "x" among them');
});
