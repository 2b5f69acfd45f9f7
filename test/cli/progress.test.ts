import { describe, expect, it } from "vitest";
import { createProgress, describeStatus, doneOfWave } from "#cli/progress.ts";
import { exitCodeOf } from "#cli/watch.ts";
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

  it("writes JSON lines for programs", () => {
    const { lines, progress } = collect(true);

    progress.show(buildStatus());

    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ state: "in_progress", succeeded: 12 });
  });

  it("tells of a lost connection once until it is back", () => {
    const { lines, progress } = collect(false);

    progress.note("connection lost");
    progress.note("connection lost");

    expect(lines).toEqual(["connection lost\n"]);
  });
});

describe("describeStatus", () => {
  it("names the wave while the rollout is in progress", () => {
    expect(describeStatus(buildStatus())).toBe(
      "wave 2/5: 12 of 40 sentinels ready, 0 failed, 4 in flight",
    );
  });
});

describe("doneOfWave", () => {
  it.each([
    [0, 0],
    [10, 0],
    [12, 2],
    [40, 30],
  ])("with %i done in all has %i done of the wave of 30 after the first 10", (done, expected) => {
    expect(doneOfWave({ size: 30, covered: 40 }, done)).toBe(expected);
  });
});

describe("exitCodeOf", () => {
  it.each([
    ["completed", 0],
    ["paused", 2],
    ["cancelled", 3],
    ["in_progress", 1],
  ] as const)("of %s is %i", (state, code) => {
    expect(exitCodeOf(buildStatus({ state }))).toBe(code);
  });
});
