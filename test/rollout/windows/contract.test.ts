import { describe, expect, it } from "vitest";
import { openingAt } from "#rollout/windows/calendar.ts";
import { RolloutWindow } from "#rollout/windows/contract.ts";

const freeze = { id: "shop", kind: "freeze", reason: "the shop is busy" };

describe("a window", () => {
  it.each([
    [{ time_zone: "Mars/Olympus" }, "IANA"],
    [{ time_zone: "+02:00" }, "IANA"],
    // Intl takes it; the IANA does not have it.
    [{ time_zone: "PST" }, "IANA"],
    [{ from: "9:00", to: "16:00" }, "time of day"],
    [{ from: "09:00", to: "24:00" }, "time of day"],
    [{ from: "09:00" }, "together"],
    [{ days: ["monday"] }, "mon"],
    [{ days: ["mon", "mon"] }, "once"],
    [{ starts: "2026-12-20" }, "offset"],
    [{ starts: "0000-01-01T00:00:00Z" }, "1970"],
    [{ ends: "9999-12-31T23:59:59-23:59" }, "8999"],
    [{ starts: "2026-12-20T00:00:00Z", ends: "2026-12-20T00:00:00Z" }, "after starts"],
    [{ kind: "allowed" }, "says when"],
    [{ id: "Shop!" }, "lower-case"],
    [{ reason: " " }, "reason"],
  ])("is refused with %j", (over, words) => {
    const { success, error } = RolloutWindow.safeParse({ ...freeze, ...over });

    expect(success).toBe(false);
    expect(JSON.stringify(error?.issues)).toContain(words);
  });

  it("is in UTC unless it says otherwise", () => {
    expect(RolloutWindow.parse(freeze)).toEqual({ ...freeze, time_zone: "UTC" });
  });

  it.each(Intl.supportedValuesOf("timeZone"))("may be in %s", (time_zone) => {
    const window = RolloutWindow.parse({ ...freeze, time_zone, from: "09:00", to: "16:00" });

    expect(openingAt([window], Date.parse("2026-03-01T00:00:00Z"))).toBeDefined();
  });
});
