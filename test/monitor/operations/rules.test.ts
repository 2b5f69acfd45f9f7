import { describe, expect, it } from "vitest";
import {
  acknowledge,
  addMaintenance,
  describeAlertState,
  mute,
} from "#monitor/operations/rules.ts";
import { notQuiet } from "#monitor/rules/quiet.ts";

const nowMs = Date.UTC(2026, 0, 1);
const at = (hours: number) => new Date(nowMs + hours * 3_600_000).toISOString();
const windowOf = (from: number, to: number) => {
  return { from: at(from), to: at(to), reason: "upgrade", by: "ada" };
};

const alert = {
  episode: 2,
  openedAtMs: nowMs,
  reason: "local: connection refused",
  locations: ["local"],
  acknowledged: null,
  rollout: null,
};

describe("mute", () => {
  it("lasts until the time that is given", () => {
    expect(mute(notQuiet, { until: at(1), by: "ada" }, nowMs).mutedUntilMs).toBe(nowMs + 3_600_000);
  });

  it("lasts until it is unmuted when no time is given", () => {
    const quiet = mute(notQuiet, { by: "ada" }, nowMs);

    const { muted_until } = describeAlertState("c", { quiet, alert: null });
    expect(muted_until).toBe("9999-12-31T23:59:59.000Z");
  });

  it("does not end in the past", () => {
    expect(() => mute(notQuiet, { until: at(-1), by: "ada" }, nowMs)).toThrow(
      "until has to be in the future",
    );
  });
});

describe("maintenance", () => {
  it("adds a window to those that have not ended", () => {
    const before = addMaintenance(notQuiet, windowOf(0, 1), nowMs);

    const later = addMaintenance(before, windowOf(3, 4), nowMs + 2 * 3_600_000);

    expect(later.maintenance.map(({ fromMs }) => fromMs)).toEqual([nowMs + 3 * 3_600_000]);
  });

  it.each([
    ["ends in the past", windowOf(-2, -1), "to has to be in the future"],
    ["ends before it begins", windowOf(2, 1), "to has to be after from"],
    ["is empty", windowOf(1, 1), "to has to be after from"],
  ])("refuses a window that %s", (_, window, message) => {
    expect(() => addMaintenance(notQuiet, window, nowMs)).toThrow(message);
  });

  it("keeps no more than a hundred windows", () => {
    let quiet = notQuiet;
    for (let n = 1; n <= 100; n += 1) quiet = addMaintenance(quiet, windowOf(n, n + 1), nowMs);

    expect(() => addMaintenance(quiet, windowOf(1, 2), nowMs)).toThrow("100 windows");
  });
});

describe("what an operator sees", () => {
  it("names who muted it and who added each window", () => {
    const muted = mute(notQuiet, { by: "ada" }, nowMs);
    const quiet = addMaintenance(muted, { ...windowOf(0, 1), by: "grace" }, nowMs);

    const { muted_by, maintenance } = describeAlertState("c", { quiet, alert: null });

    expect([muted_by, maintenance[0]?.by]).toEqual(["ada", "grace"]);
  });
});

describe("acknowledge", () => {
  it("records the first who acknowledged", () => {
    const first = acknowledge(alert, { by: "ada", episode: 2 }, nowMs + 1);

    const second = acknowledge(first, { by: "grace" }, nowMs + 2);

    expect(second.acknowledged).toEqual({ by: "ada", atMs: nowMs + 1 });
  });

  it("is refused without an open alert", () => {
    expect(() => acknowledge(null, { by: "ada" }, nowMs)).toThrow("no alert of this check is open");
  });

  it("is refused when another alert is open than the one meant", () => {
    const old = { by: "ada", episode: 1 };

    expect(() => acknowledge(alert, old, nowMs)).toThrow(
      "alert 1 is resolved; alert 2 is open now",
    );
  });
});
