import { describe, expect, it } from "vitest";
import { faultsOf, ownPaths } from "#console/web/parts/fields.ts";
import { toWindow, type WindowFields } from "#console/web/rows/windows.ts";
import { parseBody } from "#kernel/faults.ts";
import { RolloutWindow, windowHandlers } from "#rollout/windows/contract.ts";

const plain: WindowFields = {
  id: "year-end",
  kind: "freeze",
  time_zone: "Europe/Berlin",
  days: [],
  from: "",
  to: "",
  starts: "",
  ends: "",
  reason: "the shop is busy",
};

const least = {
  id: "year-end",
  kind: "freeze",
  time_zone: "Europe/Berlin",
  reason: "the shop is busy",
};

/** What the server says of these fields. */
function refusalOf(fields: Partial<WindowFields>): string {
  try {
    parseBody(windowHandlers.Add.input, toWindow({ ...plain, ...fields }));
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

describe("the window of the form", () => {
  it.each<[Partial<WindowFields>, object]>([
    [{}, {}],
    [{ id: " year-end ", reason: " the shop is busy " }, {}],
    [{ days: ["fri", "mon"] }, { days: ["mon", "fri"] }],
    [
      { from: "09:00", to: "16:00" },
      { from: "09:00", to: "16:00" },
    ],
  ])("of %j has %j", (fields, wanted) => {
    const window = toWindow({ ...plain, ...fields });

    expect(window).toEqual({ ...least, ...wanted });
    expect(RolloutWindow.safeParse(window).success).toBe(true);
  });

  it("has its bounds as instants, which the fields have in the time of this machine", () => {
    const { starts, ends } = toWindow({
      ...plain,
      starts: "2026-12-20T00:00",
      ends: "2027-01-04T08:30",
    });

    expect(starts).toBe(new Date(2026, 11, 20).toISOString());
    expect(ends).toBe(new Date(2027, 0, 4, 8, 30).toISOString());
  });
});

describe("a refusal", () => {
  it.each<[Partial<WindowFields>, keyof WindowFields]>([
    [{ id: "Office Hours" }, "id"],
    [{ time_zone: "Europe/Nowhere" }, "time_zone"],
    [{ kind: "allowed" }, "days"],
    [{ from: "09:00" }, "from"],
    [{ starts: "2026-12-21T00:00", ends: "2026-12-20T00:00" }, "ends"],
    [{ reason: " " }, "reason"],
  ])("of %j is said at the field %s alone", (fields, name) => {
    const faults = faultsOf(refusalOf(fields), ownPaths(plain));

    expect(Object.keys(faults.fields)).toEqual([name]);
    expect(faults.rest).toBe("");
  });

  it("of several fields is said at each", () => {
    const faults = faultsOf(refusalOf({ id: "", time_zone: "", reason: "" }), ownPaths(plain));

    expect(Object.keys(faults.fields)).toEqual(["id", "time_zone", "reason"]);
  });

  it("that is about no field is said below the form", () => {
    const taken = "there is another window year-end: remove it first";

    expect(faultsOf(taken, ownPaths(plain))).toEqual({ fields: {}, rest: taken });
  });
});
