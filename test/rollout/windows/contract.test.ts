import { describe, expect, it } from "vitest";
import { RolloutWindow } from "#rollout/windows/contract.ts";

const freeze = { id: "shop", kind: "freeze", reason: "the shop is busy" };

describe("a window", () => {
  it.each([
    [{ time_zone: "Mars/Olympus" }, "IANA"],
    [{ time_zone: "+02:00" }, "IANA"],
    [{ from: "9:00", to: "16:00" }, "time of day"],
    [{ from: "09:00", to: "24:00" }, "time of day"],
    [{ from: "09:00" }, "together"],
    [{ days: ["monday"] }, "mon"],
    [{ days: ["mon", "mon"] }, "once"],
    [{ starts: "2026-12-20" }, "offset"],
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
});
