import { describe, expect, it } from "vitest";
import {
  reportHistory,
  reportRollback,
  reportSentinels,
  reportStatus,
} from "#cli/rollout/report.ts";
import { isWhole } from "#cli/rollout/rollout.ts";
import { type RollbackResult, RolloutStatus } from "#rollout/contract.ts";

const image = "registry.example.com/vedette/sentinel:v2";

const result: RollbackResult = {
  rollout_id: "r-1",
  state: "cancelled",
  outcome: "rolled_back",
  image,
  current_wave: 1,
  total_waves: 1,
  total: 12,
  succeeded: 0,
  failed: 1,
  in_flight: 0,
  failed_sentinels: [{ id: "s01", reason: "oom_killed" }],
  started_at: null,
  updated_at: null,
  reverted: 11,
  not_reverted: [],
  still_ordered: [{ id: "s01", reason: "oom_killed" }],
  still_ordered_count: 1,
};

describe("the report of a rollout", () => {
  it("has the first twelve digits of a digest", () => {
    const pinned = `${image.replace(/:v2$/, "")}@sha256:${"b".repeat(64)}`;

    const [first] = reportStatus({ ...result, image: pinned }).split("\n");

    expect(first).toMatch(/ registry\.example\.com\/vedette\/sentinel@sha256:b{12}$/);
  });

  it("says how to see what a failed sentinel has printed, and puts no other command into it", () => {
    const named = (...ids: string[]) => {
      const failed_sentinels = ids.map((id) => ({ id, reason: "crash_loop" }));
      return reportStatus({ ...result, failed: ids.length, failed_sentinels });
    };

    expect(named("edge/gw-1", "edge/gw-2")).toContain("why: npx vedette sentinels log edge/gw-1\n");
    expect(named("gw; reboot", "gw-2")).toContain("why: npx vedette sentinels log gw-2\n");
    expect(named("gw; reboot")).not.toContain("sentinels log");
    expect(named()).not.toContain("sentinels log");
  });
});

describe("the report of a rollout that runs or stands still", () => {
  it.each([
    ["pause", "pauses"],
    ["continue", "continues"],
    ["rollback", "rolls back"],
  ] as const)("says of a gate that is closed how its time ends: %s", (on_timeout, words) => {
    const end = { until: "2026-11-28T02:00:00.000Z", on_timeout };
    const reason = "waits for a confirmation";
    const view = { ...end, name: "ok", kind: "pause", verdict: "pending", reason, readings: [] };
    const gate = { ...end, wave: 1, since: "2026-11-28T01:00:00.000Z", checks: [], gates: [view] };

    const text = reportStatus(RolloutStatus.parse({ ...result, state: "in_progress", gate }));

    expect(text).toContain(`ok: pending, ${reason}; ${words} at 2026-11-28 02:00:00 UTC`);
  });

  it("says who has paused it, and when", () => {
    const paused = { by: "ada", at: "2026-11-28T02:00:00.000Z" };

    expect(reportStatus({ ...result, state: "paused", outcome: null, paused })).toMatch(
      /^paused by ada at 2026-11-28 02:00:00 UTC registry/,
    );
  });

  it("names the way to end it while it waits for the fleet's list, with why it waits", () => {
    const reason = "waits for the fleet's list: unreachable: ECONNREFUSED";
    const waiting = {
      state: "in_progress",
      outcome: null,
      total: 0,
      total_waves: 0,
      reason,
    } as const;
    const report = reportStatus({ ...result, ...waiting });

    expect(report).toContain(`reason     ${reason}`);
    expect(report).toContain("Next: npx vedette rollout cancel");
  });
});

describe("the report of sentinels", () => {
  it("tells a fleet that was never read from one without sentinels", () => {
    expect(reportSentinels({ sentinels: [] })).toBe("There are no sentinels.");
    expect(reportSentinels({ sentinels: [], list_problem: "unreachable: ECONNREFUSED" })).toBe(
      "No sentinel is known: the list was never read: unreachable: ECONNREFUSED",
    );
  });
});

describe("the report of a cancelled rollout", () => {
  const cancelled = (succeeded: number, in_flight: number, failed = 0) =>
    reportStatus({ ...result, outcome: "cancelled", succeeded, in_flight, failed });

  it("names the rollback as long as a sentinel has the image, or is about to", () => {
    expect(cancelled(1, 0)).toContain("npx vedette rollout rollback");
    expect(cancelled(0, 4)).toContain("npx vedette rollout rollback");
    expect(cancelled(0, 0)).not.toContain("npx vedette rollout rollback");
  });

  it("names the way to put failed sentinels back, where nothing else is left to put back", () => {
    expect(cancelled(0, 0, 1)).toContain("Next: npx vedette rollout rollback --include-failed");
    expect(cancelled(1, 0, 1)).toContain("previous images; --include-failed those of the failed");
    expect(cancelled(1, 0)).not.toContain("--include-failed");
  });
});

describe("the list of past rollouts", () => {
  const row = {
    ...{ rollout_id: "r-1", image, state: "cancelled" as const, outcome: "cancelled" as const },
    ...{ waiting_for: null, policy: {}, started_by: "alice", wave_percentages: [100] },
    ...{ current_wave: 1, total_waves: 1, total: 12, succeeded: 2, failed: 0, reverted: 0 },
    ...{ failed_before: 0, left_out: 0, ended_at: null },
    ...{ started_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z" },
  };
  const listOf = (over: object) => reportHistory({ rollouts: [{ ...row, ...over }] });

  it("says of one that was rolled back how many were put back", () => {
    const report = listOf({ outcome: "rolled_back", succeeded: 0, reverted: 2 });

    expect(report).toContain("2/12, 2 put back");
  });

  it("says how many are done otherwise", () => {
    expect(listOf({})).toMatch(/ 2\/12 +0 +alice/);
  });

  it("says why it ended", () => {
    expect(listOf({ reason: "the gate liveness stayed closed" })).toContain(
      "the gate liveness stayed closed",
    );
  });
});

describe("the report of a rollback", () => {
  it("names the failed sentinels that are still ordered to run the new image", () => {
    const report = reportRollback(result);

    expect(report).toContain("s01  oom_killed");
    expect(report).toContain(`1 failed and is still ordered to run ${image}`);
  });

  it.each([
    [1, "rolled back: 1 sentinel runs its previous image again"],
    [11, "rolled back: 11 sentinels run their previous image again"],
  ])("of %i sentinels that were reverted it says: %s", (reverted, line) => {
    expect(reportRollback({ ...result, reverted })).toContain(line);
  });

  it("does not call a rollout rolled back of which nothing was reverted, and names the way", () => {
    const report = reportRollback({ ...result, outcome: "cancelled", reverted: 0 });

    expect(report).toContain("cancelled: nothing was reverted\n");
    expect(report).not.toContain("rolled back");
    expect(report).toContain("Next: npx vedette rollout rollback --include-failed");
  });

  it("goes on saying which sentinels serve nothing", () => {
    const part = {
      text: "1 failed and serves nothing: s01.",
      brief: "",
      down: 1,
      failed_on_image: 0,
    };

    expect(reportRollback({ ...result, standing: [part] })).toContain(
      "1 failed and serves nothing: s01.",
    );
    expect(reportStatus({ ...result, standing: [part] })).toContain(
      "1 failed and serves nothing: s01.",
    );
  });

  it.each<[Partial<RollbackResult>, boolean]>([
    [{}, true],
    [{ standing: [{ text: "", brief: "", down: 1, failed_on_image: 0 }] }, false],
    [{ standing: [{ text: "", brief: "", down: 0, failed_on_image: 1 }] }, false],
    [{ not_reverted: [{ id: "s02", reason: "conflict" }] }, false],
    [{ reason: "the run ended early: killed" }, false],
  ])("with %j is whole: %j", (over, isAll) => {
    expect(isWhole({ ...result, ...over })).toBe(isAll);
  });

  it("leaves them out when there are none", () => {
    const { still_ordered: _, still_ordered_count: _count, ...older } = result;

    expect(reportRollback(older)).not.toContain("still ordered");
    expect(reportStatus(older)).not.toContain("still ordered");
  });

  it("says why it ended early, and how many sentinels were not reverted", () => {
    const report = reportRollback({
      ...result,
      succeeded: 3,
      reason: "the run ended early: killed",
    });

    expect(report).toContain("the run ended early: killed");
    expect(report).toContain("and 3 more");
    expect(report).toContain("Next: npx vedette rollout rollback");
  });
});
