import { expect, it } from "vitest";
import { membersAt, statusAt, withKnownFleet, withoutEarlyWait } from "#console/server/moment.ts";
import type { RolloutStatus } from "#rollout/contract.ts";

const status = (part: Partial<RolloutStatus> = {}): RolloutStatus => ({
  rollout_id: "r-1",
  state: "in_progress",
  image: "team/app:v2",
  current_wave: 2,
  total_waves: 3,
  total: 40,
  succeeded: 12,
  failed: 1,
  in_flight: 0,
  failed_sentinels: [],
  started_at: null,
  updated_at: null,
  ...part,
});

it("waits for history's end before a rollout is shown as completed", () => {
  const shown = statusAt(status({ state: "completed", current_wave: 3 }), status());

  expect(shown).toMatchObject({ state: "in_progress", current_wave: 2 });
});

it("takes history's word also where that is a step ahead", () => {
  expect(statusAt(status(), status({ state: "paused" })).state).toBe("paused");
});

it("has what only the rollout itself knows while both are at the same step", () => {
  const live = status({ waiting_for: "soak", until: "2026-11-26T11:00:00.000Z", in_flight: 3 });

  expect(statusAt(live, status({ total: 0, total_waves: 0 }))).toEqual(live);
});

it("shows a rollback that is due as begun", () => {
  const live = status({ state: "rolling_back" });

  expect(statusAt(live, status({ state: "paused" })).state).toBe("rolling_back");
});

it("does not say that a wave is over before its results are there", () => {
  const soaking = status({ waiting_for: "soak", until: "2026-11-26T11:00:00.000Z" });

  expect(withoutEarlyWait(soaking, { succeeded: 11, failed: 1 })).toEqual(
    status({ waiting_for: null }),
  );
  expect(withoutEarlyWait(soaking, { succeeded: 12, failed: 1 })).toBe(soaking);
});

it("says that the fleet is not listed yet until history has its waves and their members", () => {
  const outside = { id: "a", wave: null, outcome: "left_out", outcome_reason: null, failure: null };
  const inside = { ...outside, wave: 1 };
  const waves = [{ wave: 1, percentage: 100, size: 1, started_at: null, ended_at: null }];
  const unlisted = { total: 0, total_waves: 0 };

  expect(withKnownFleet(status(), { members: [outside], waves })).toMatchObject(unlisted);
  expect(withKnownFleet(status(), { members: [inside], waves: [] })).toMatchObject(unlisted);
  expect(withKnownFleet(status(), { members: [outside, inside], waves })).toEqual(status());
});

it("shows no member of a wave while the fleet is not listed yet", () => {
  const outside = { id: "a", wave: null, outcome: "left_out", outcome_reason: null, failure: null };
  const members = [outside, { ...outside, id: "b", wave: 1, outcome: null }];

  expect(membersAt(status({ total: 0 }), members)).toEqual([outside]);
  expect(membersAt(status(), members)).toEqual(members);
});
