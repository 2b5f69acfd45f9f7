import { expect, it } from "vitest";
import { isTimeZone } from "#kernel/time.ts";

/** What `Temporal` takes, which takes the names of the IANA alone. */
function isNameOfTemporal(name: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return true;
  } catch {
    return false;
  }
}

const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

it("takes a name of three letters if it is one of the IANA's", () => {
  const names = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));

  expect(names.filter(isTimeZone)).toEqual(names.filter(isNameOfTemporal));
});

it.each(["Europe/Berlin", "europe/berlin", "Europe/Kiev", "EST5EDT", "GMT+0", "Etc/GMT+5"])(
  "takes %s",
  (name) => {
    expect([isTimeZone(name), isNameOfTemporal(name)]).toEqual([true, true]);
  },
);

it.each(["+02:00", "Mars/Olympus", "SystemV/PST8PDT", "pst", "UTC+1", "", "Europe/Berlin "])(
  "refuses %j",
  (name) => {
    expect(isTimeZone(name)).toBe(false);
  },
);
