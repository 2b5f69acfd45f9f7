import { describe, expect, it } from "vitest";
import { createProgress, describeStatus, fillWaves } from "#cli/rollout/progress.ts";
import type { RolloutStatus } from "#rollout/contract.ts";

function buildStatus(over: Partial<RolloutStatus> = {}): RolloutStatus {
  return {
    rollout_id: "r-1",
    state: "in_progress",
    image: "registry.example.com/a:v2",
    current_wave: 2,
    total_waves: 5,
    total: 40,
    succeeded: 12,
    failed: 0,
    in_flight: 4,
    failed_sentinels: [],
    started_at: null,
    updated_at: "1",
    ...over,
  };
}

function collect(json: boolean) {
  const lines: string[] = [];
  const output = { isTTY: false, write: (text: string) => lines.push(text) > 0 };
  return { lines, progress: createProgress(output as never, { json }) };
}

describe("createProgress", () => {
  it("writes a line for each change, and none for a repetition", () => {
    const { lines, progress } = collect(false);

    progress.show(buildStatus());
    progress.show(buildStatus({ updated_at: "2" }));
    progress.show(buildStatus({ succeeded: 13 }));

    expect(lines).toHaveLength(2);
  });

  it("names the rollout and its start before its first line", () => {
    const { lines, progress } = collect(false);

    progress.show(buildStatus({ started_at: "2026-01-01T00:00:00.000Z" }));
    progress.show(buildStatus({ started_at: "2026-01-01T00:00:00.000Z", succeeded: 13 }));

    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^rollout r-1, started 2026-01-01 00:00.* UTC\n$/);
  });

  it("writes JSON lines for programs", () => {
    const { lines, progress } = collect(true);

    progress.show(buildStatus());

    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ state: "in_progress", succeeded: 12 });
  });

  it("reports a lost connection once until it is back", () => {
    const { lines, progress } = collect(false);

    progress.log("connection lost");
    progress.log("connection lost");

    expect(lines).toEqual(["connection lost\n"]);
  });
});

describe("describeStatus", () => {
  it("says what a rollout that has not started waits for", () => {
    const reason = "waits for the fleet's list";
    const waiting = buildStatus({ current_wave: 0, total_waves: 0, total: 0, reason });

    expect(describeStatus(waiting)).toBe("not started: waits for the fleet's list");
    expect(describeStatus(buildStatus({ state: "rolling_back", reason }))).toContain(`; ${reason}`);
  });

  it("counts nothing before the fleet is listed", () => {
    const starting = buildStatus({ current_wave: 0, total_waves: 0, total: 0, succeeded: 0 });

    expect(describeStatus(starting)).toBe("not started: the fleet is being listed");
  });

  it("says who has paused it, and what runs where although none has failed", () => {
    const standing = [
      { text: "2 of 12 run v3.", brief: "2 of 12 run v3", down: 0, failed_on_image: 0 },
    ];
    const paused = { by: "ada", at: "2026-11-28T02:00:00.000Z" };

    expect(describeStatus(buildStatus({ state: "paused", standing, paused }))).toBe(
      "paused by ada at 2026-11-28 02:00:00 UTC: 2 of 12 run v3.",
    );
  });

  it("names the wave while the rollout is in progress", () => {
    expect(describeStatus(buildStatus())).toBe(
      "wave 2/5: 12 of 40 on the new image, 0 failed, 4 in flight",
    );
  });
});

it("describeStatus of a paused rollout says what runs where, as chat and console do", () => {
  const standing = [
    { text: "3 of 8 run v3.", brief: "3 of 8 run v3", down: 0, failed_on_image: 0 },
    {
      text: "1 failed and still serves v2.",
      brief: "1 failed and still serves v2",
      down: 0,
      failed_on_image: 0,
    },
  ];

  expect(describeStatus(buildStatus({ state: "paused", failed: 1, standing }))).toBe(
    "paused: 3 of 8 run v3. 1 failed and still serves v2.",
  );
});

describe("describeStatus of a rollback", () => {
  it("counts down the sentinels that are not put back yet", () => {
    expect(describeStatus(buildStatus({ state: "rolling_back", succeeded: 7 }))).toBe(
      "rolling back: 7 of 40 sentinels not put back yet, 4 in flight",
    );
  });
});

describe("fillWaves", () => {
  const waves = [
    { wave: 1, size: 10, covered: 10 },
    { wave: 2, size: 30, covered: 40 },
  ];

  it.each([
    ["the first wave at work", { current_wave: 1, succeeded: 4 }, 0, [4, 0]],
    ["the second wave at work", { current_wave: 2, succeeded: 12 }, 10, [10, 2]],
    ["a second wave after one of which 5 were passed over", { succeeded: 7 }, 5, [10, 2]],
    ["more done than a wave has", { current_wave: 1, succeeded: 14 }, 0, [10, 0]],
    ["failed ones, which are done too", { succeeded: 10, failed: 3 }, 10, [10, 3]],
    ["a completed rollout", { state: "completed" as const, succeeded: 35 }, 10, [10, 30]],
  ])("shows %s", (_, over, doneBefore, expected) => {
    expect(fillWaves(waves, { status: buildStatus(over), doneBefore })).toEqual(expected);
  });
});
