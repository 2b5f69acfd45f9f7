/** Heartbeats by cron: the same decisions, by times instead of a period. */
import { describe, expect, it } from "vitest";
import type { HeartbeatState } from "#monitor/contract.ts";
import {
  dueAtMs,
  expire,
  newHeartbeatState,
  reschedule,
  statusAt,
  takePing,
  withLastPing,
} from "#monitor/rules/deadline.ts";
import { setRight } from "#monitor/state/evaluate-heartbeat.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const at = (text: string) => Date.parse(text);
const byCron = (cron: string, graceSeconds = 3_600, timezone = "Europe/Berlin") =>
  aHeartbeat({
    id: "backup",
    periodSeconds: undefined,
    schedule: { cron, timezone },
    graceSeconds,
  });
const nightly = byCron("0 3 * * *");
const third = at("2026-11-24T02:00Z");
const loud = { isQuiet: false, rollout: null };
const now = (nowMs: number) => ({ nowMs, away: null, ...loud });
const made = newHeartbeatState(third - 5 * hour);

const ping = (heartbeat: typeof nightly, state: HeartbeatState, atMs: number) =>
  takePing(heartbeat, state, { ping: { kind: "success", atMs }, ...loud });
const start = (heartbeat: typeof nightly, state: HeartbeatState, atMs: number) =>
  takePing(heartbeat, state, { ping: { kind: "start", atMs }, ...loud }).state;

describe("the deadline by a cron", () => {
  it("is the grace after the first time since it was made", () => {
    expect(dueAtMs(nightly, made)).toBe(third + hour);
    expect(expire(nightly, made, now(third + hour - 1)).transition).toBeNull();
    expect(expire(nightly, made, now(third + hour)).transition?.reason).toBe(
      'never pinged since 2026-11-23 21:00:00 UTC (expected 2026-11-24 02:00:00 UTC by "0 3 * * *" Europe/Berlin, grace 60 min)',
    );
  });

  it("moves on by a ping in the window, and by none before it", () => {
    expect(dueAtMs(nightly, ping(nightly, made, third + 5 * minute).state)).toBe(
      third + day + hour,
    );
    expect(dueAtMs(nightly, ping(nightly, made, third - 2_000).state)).toBe(third + day + hour);
    expect(dueAtMs(nightly, ping(nightly, made, third - 2 * hour).state)).toBe(third + hour);
  });

  it("moves on by one ping for one time", () => {
    const early = ping(nightly, made, third - 2_000).state;

    expect(dueAtMs(nightly, ping(nightly, early, third + 1_000).state)).toBe(third + day + hour);
  });

  it("follows the clocks of its zone", () => {
    const spring = ping(nightly, made, at("2027-03-27T02:00Z")).state;

    expect(dueAtMs(nightly, spring)).toBe(at("2027-03-28T02:00Z"));
  });

  it("belongs to the time at which a run began", () => {
    const hourly = byCron("0 * * * *", 5_400);
    const began = start(hourly, made, third + 2_000);
    const { state } = ping(hourly, began, third + 70 * minute);

    expect(dueAtMs(hourly, began)).toBe(third - 4 * hour + 5_400_000);
    expect(dueAtMs(hourly, state)).toBe(third + hour + 5_400_000);
  });
});

it("a recovery counts the times that were missed, also after the window", () => {
  const open = expire(nightly, made, now(third + hour)).state;

  const { transition, state } = ping(nightly, open, third + 2 * day + 5 * hour);

  expect(transition).toMatchObject({ kind: "resolved", missedPings: 2 });
  expect(dueAtMs(nightly, state)).toBe(third + 3 * day + hour);
});

it("a change of the cron, its zone or its grace alerts for nothing of before", () => {
  const nowMs = third + 2 * hour;
  const edit = (before: typeof nightly, after: typeof nightly) =>
    dueAtMs(
      after,
      reschedule({ ...made, lastPingAtMs: third - 3 * day }, { before, after, nowMs }),
    );
  const period = aHeartbeat({ periodSeconds: 3_600, graceSeconds: 60 });

  expect(edit(nightly, byCron("0 4 * * *"))).toBe(third + day + 2 * hour);
  expect(edit(nightly, byCron("0 3 * * *", 60))).toBe(third + day + minute);
  expect(edit(nightly, byCron("0 3 * * *", 3_600, "UTC"))).toBe(third + day + 2 * hour);
  expect(edit(period, nightly)).toBe(third + day + hour);
  expect(edit(nightly, period)).toBe(nowMs + hour + minute);
  expect(reschedule(made, { before: nightly, after: { ...nightly }, nowMs })).toBe(made);
});

it("a heartbeat by cron is held by an absence around the end of the window", () => {
  const away = { fromMs: third + 30 * minute, toMs: third + 2 * hour, isOver: true };

  const { state, transition } = expire(nightly, made, { ...now(third + 2 * hour), away });

  expect(transition).toBeNull();
  expect(dueAtMs(nightly, state)).toBe(third + 3 * hour);
});

it("times that a clock ahead has settled are owed again when it is set right", () => {
  const wrong = { ...made, settledMs: third + 3 * day };

  const right = setRight(nightly, wrong, { nowMs: third - hour, fromMs: third - hour });

  expect(dueAtMs(nightly, right)).toBe(third + hour);
  const early = { ...made, settledMs: third };
  expect(setRight(nightly, early, { nowMs: third - minute, fromMs: 0 })).toBe(early);
});

it("a heartbeat by cron is late from its time on, whenever the last ping came", () => {
  const heard = { status: "ok" as const, heardAtMs: third - day, expectedAtMs: third };

  expect(statusAt(nightly, heard, third)).toBe("ok");
  expect(statusAt(nightly, heard, third + 1)).toBe("late");
});

it("a ping that came without a watch moves the deadline", () => {
  const state = withLastPing(nightly, made, third + minute);

  expect(dueAtMs(nightly, state)).toBe(third + day + hour);
  expect(withLastPing(nightly, state, null)).toBe(state);
});
