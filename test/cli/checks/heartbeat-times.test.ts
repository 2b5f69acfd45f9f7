import { expect, it } from "vitest";
import { formatInZone } from "#cli/checks/heartbeat-times.ts";

it.each([
  ["2027-03-28T01:00Z", "Europe/Berlin", "Sun 2027-03-28 03:00 +02:00"],
  ["2027-03-27T02:00Z", "Europe/Berlin", "Sat 2027-03-27 03:00 +01:00"],
  ["2026-11-24T03:00Z", "UTC", "Tue 2026-11-24 03:00 +00:00"],
])("shows %s in %s with its offset", (time, zone, expected) => {
  expect(formatInZone(Date.parse(time), zone)).toBe(expected);
});
