import { expect, it } from "vitest";
import { findNext, formatInZone } from "#cli/checks/definitions.ts";

it.each([
  ["2027-03-28T01:00Z", "Europe/Berlin", "Sun 2027-03-28 03:00 +02:00"],
  ["2027-03-27T02:00Z", "Europe/Berlin", "Sat 2027-03-27 03:00 +01:00"],
  ["2026-11-24T03:00Z", "UTC", "Tue 2026-11-24 03:00 +00:00"],
])("the command shows %s in %s with its offset", (time, zone, expected) => {
  expect(formatInZone(Date.parse(time), zone)).toBe(expected);
});

it("the next times are those of the dialect of the row, which is named", () => {
  const nowMs = Date.parse("2026-11-01T12:00Z");
  const dayOf = (time: string) => time.slice(0, 14);

  const debian = findNext("0 5 */2 * 1-5", {}, nowMs);
  const kubernetes = findNext("0 5 */2 * 1-5", { cronDialect: "kubernetes" }, nowMs);

  expect(debian).toMatchObject({ cronDialect: "debian", timezone: "UTC" });
  expect(debian.next.map(dayOf)).toEqual([
    ...["Tue 2026-11-03", "Thu 2026-11-05", "Mon 2026-11-09", "Wed 2026-11-11", "Fri 2026-11-13"],
  ]);
  expect(kubernetes).toMatchObject({ cronDialect: "kubernetes" });
  expect(kubernetes.next.map(dayOf)).toEqual([
    ...["Mon 2026-11-02", "Tue 2026-11-03", "Wed 2026-11-04", "Thu 2026-11-05", "Fri 2026-11-06"],
  ]);
});
