import { describe, expect, it } from "vitest";
import type { Policy } from "#rollout/policy-contract.ts";
import { describePlan, nothingWords } from "#rollout/rules/describe-plan.ts";
import { planRollout } from "#rollout/rules/plan.ts";
import { RolloutWindow } from "#rollout/windows/contract.ts";
import { buildChecksGate } from "../../support/rollout/gates.ts";
import { buildFleet, imageV2 } from "../../support/rollout/rollout-builders.ts";

const fleet = [...buildFleet({ eu: 2, us: 2 }), ...buildFleet({ ap: 1 }, imageV2)];
const request = { image: imageV2, wavePercentages: [50, 100] };

const nowMs = Date.parse("2026-03-02T12:00:00Z");

const describeWith = (policy: Policy, windows: RolloutWindow[] = []) => {
  const planned = {
    ...request,
    ci: [],
    hindrances: [],
    policy,
    fleetSize: fleet.length,
    windows,
    nowMs,
  };
  return describePlan(planned, planRollout(fleet, request));
};

describe("describePlan", () => {
  it("shows sizes, coverage and regions of each wave", () => {
    const plan = describeWith({});

    expect(plan).toMatchObject({ total: 4, already_running: 1 });
    expect(plan.waves.map(({ size, covered, regions }) => ({ size, covered, regions }))).toEqual([
      { size: 2, covered: 2, regions: { eu: 1, us: 1 } },
      { size: 2, covered: 4, regions: { eu: 1, us: 1 } },
    ]);
  });

  it("shows the failure budget as counts, and how long each wave soaks", () => {
    const plan = describeWith({
      on_failure: "rollback",
      max_failed: { per_wave: "50%", in_all: 3 },
      soak_seconds: [60, 0],
    });

    expect(plan).toMatchObject({ on_failure: "rollback", max_failed: 3 });
    expect(plan.waves).toMatchObject([
      { max_failed: 1, soak_seconds: 60 },
      { max_failed: 1, soak_seconds: 0 },
    ]);
  });

  it("pauses, without limits and soaks, unless something else is wanted", () => {
    expect(describeWith({})).toMatchObject({
      on_failure: "pause",
      max_failed: null,
      waves: [
        { max_failed: null, soak_seconds: 0 },
        { max_failed: null, soak_seconds: 0 },
      ],
    });
  });

  it("shows when each wave may start at the earliest", () => {
    const office = RolloutWindow.parse({
      id: "office",
      kind: "allowed",
      from: "09:00",
      to: "16:00",
      reason: "somebody is there",
    });
    const starts = (policy: Policy) =>
      describeWith(policy, [office]).waves.map((wave) => wave.earliest_start);

    expect(starts({ soak_seconds: 4 * 3_600 })).toEqual([
      "2026-03-02T12:00:00.000Z",
      "2026-03-03T09:00:00.000Z",
    ]);
    expect(starts({ not_before: "2026-03-02T22:00:00Z" })).toEqual([
      "2026-03-03T09:00:00.000Z",
      "2026-03-03T09:00:00.000Z",
    ]);
  });

  it("says so when no wave may start within a year", () => {
    const freeze = RolloutWindow.parse({ id: "all", kind: "freeze", reason: "sold" });

    expect(describeWith({}, [freeze]).waves.map((wave) => wave.earliest_start)).toEqual([
      null,
      null,
    ]);
  });

  const notesOf = (given: object, of: Partial<typeof request> & { policy?: Policy } = {}) => {
    const asked = { ...request, policy: {}, ...of };
    const times = { windows: [], nowMs, ci: [], hindrances: [], fleetSize: fleet.length };
    return describePlan({ ...asked, ...times, ...given }, planRollout(fleet, asked)).notes;
  };

  it("notes that there is no canary, nobody left out and no gate", () => {
    expect(notesOf({})).toEqual([
      "Canaries first: none, no labels name any",
      "Left out: none",
      "Gate: none",
    ]);
  });

  it("notes the gate, and how many may be unavailable", () => {
    const gate = buildChecksGate({ checks: ["liveness", "shop"], clean_runs: 3 });

    expect(notesOf({ gates: [gate] }, { policy: { max_unavailable: "50%" } })).toEqual(
      expect.arrayContaining([
        "Gate before each next wave: liveness, shop; clean runs of each: 3, within 10 min",
        "Unhealthy, failed or in flight at one time: 2 at most",
      ]),
    );
  });

  it("notes that the order of regions takes all others, too", () => {
    expect(notesOf({}, { policy: { regions: ["us"] } })).toContain(
      "Order: us first, then all other regions (only these regions: --only-regions)",
    );
  });

  it("notes canaries that do not get the image", () => {
    expect(notesOf({}, { policy: { canary_labels: { tier: "canary" } } })).toContain(
      "Canaries first: none that gets the image",
    );
  });

  it("notes which percentages add no wave of their own", () => {
    const wavePercentages = [1, 5, 25, 50, 100];
    const asked = { ...request, wavePercentages, policy: {} };
    const times = { windows: [], nowMs, ci: [], hindrances: [], fleetSize: fleet.length };

    const { merged, notes } = describePlan({ ...asked, ...times }, planRollout(fleet, asked));

    expect(merged).toEqual([
      { percentage: 5, wave: 1 },
      { percentage: 25, wave: 1 },
    ]);
    expect(notes).toContain("Merged: 5 % adds no sentinel, it is part of wave 1");
  });
});

it.each([
  [12, 0, "nothing to do: all 12 sentinels run it already"],
  [1, 0, "nothing to do: the only sentinel runs it already"],
  [11, 1, "nothing to do: 11 of 12 sentinels run it already, 1 left out"],
  [0, 0, "nothing to do: the fleet has no sentinels"],
])("of %i that run it and %i left out the plan says why nothing is to do", (runs, out, words) => {
  expect(nothingWords(runs, out)).toBe(words);
});
