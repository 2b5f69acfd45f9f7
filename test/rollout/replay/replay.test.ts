import { expect, it } from "vitest";
import { ReplayPolicy } from "#rollout/replay/contract.ts";
import type { CheckRun, ReplayFacts } from "#rollout/replay/facts.ts";
import { replay } from "#rollout/replay/replay.ts";
import { buildFacts, idsOf, startMs } from "../../support/rollout/replay-facts.ts";

const tolerant = { max_failed: { in_all: "100%" as const } };

/** A rollout of 100 that tolerates everything, with these failures by wave and place. */
function withFailures(...places: [wave: number, place: number][]): ReplayFacts {
  const plan = buildFacts({ policy: tolerant });
  const failed = places.map(([wave, place]) => idsOf(plan, wave)[place] ?? "");
  return buildFacts({ policy: tolerant }, { failed });
}

const would = (facts: ReplayFacts, policy: object) =>
  replay(facts, ReplayPolicy.parse(policy)).would;

it("a smaller budget stops a rollout in the wave of the failure over it", () => {
  const facts = withFailures([2, 0], [3, 19], [4, 1]);

  expect(would(facts, { max_failed: { in_all: 1 } })).toEqual({
    end: "paused",
    cause: "budget",
    reason: "2 failed, 1 is allowed (max_failed.in_all)",
    ...{ wave: 3, waves: 5, ordered: 25, failed: 2, unknown: 0 },
    // 10 s of the first wave and the second each, and 40 s of the third.
    seconds: 60,
  });
});

it("a budget stops within a wave, and what is in flight finishes", () => {
  const facts = withFailures([4, 0]);

  const { wave, ordered, failed, seconds } = would(facts, { max_failed: { per_wave: 0 } });

  // Five of the fourth wave were in flight together.
  expect({ wave, ordered, failed, seconds }).toEqual({
    ...{ wave: 4, ordered: 30, failed: 1 },
    seconds: 70,
  });
});

it("a rollout with `on_failure: rollback` would have been rolled back", () => {
  const facts = withFailures([2, 0]);

  const { end, wave } = would(facts, { max_failed: { in_all: 0 }, on_failure: "rollback" });

  expect({ end, wave }).toEqual({ end: "rolled_back", wave: 2 });
});

it("failures of the fleet's API alone are a cause of their own, and roll nothing back", () => {
  const facts = withFailures([2, 0]);
  const members = facts.members.map((member) =>
    member.result?.ok === false
      ? { ...member, result: { ...member.result, ofFleet: true as const } }
      : member,
  );

  const policy = { max_failed: { in_all: 0 }, on_failure: "rollback" };

  expect(would({ ...facts, members }, policy)).toMatchObject({ end: "paused", cause: "fleet" });
});

it("a longer soak catches a sentinel that failed after its success", () => {
  const plan = buildFacts();
  const [first = ""] = idsOf(plan, 1);
  const facts = buildFacts({}, { strays: { [first]: 90_000 } });

  expect(would(facts, { soak_seconds: 30 })).toMatchObject({
    // 10 s, 30 s, 10 s, 30 s and 20 s into the third wave of 40 s: found in the soak after it.
    ...{ end: "paused", cause: "sentinels", wave: 3, ordered: 25, failed: 1, seconds: 120 },
  });
  expect(would(facts, { soak_seconds: 120 })).toMatchObject({
    ...{ end: "paused", cause: "sentinels", wave: 1, ordered: 1, failed: 1, seconds: 100 },
  });
  expect(would(facts, {})).toMatchObject({ end: "completed", failed: 0 });
});

it("smaller first waves order fewer sentinels before the failure stops it", () => {
  const plan = buildFacts({ wavePercentages: [50, 100] });
  const [first = ""] = idsOf(plan, 1);
  const facts = buildFacts({ wavePercentages: [50, 100] }, { failed: [first], waves: 1 });

  const whole = replay(facts, {});
  const smaller = replay(facts, { wave_percentages: [1, 5, 10, 100] });

  expect(whole.would).toMatchObject({ end: "paused", wave: 1, ordered: 50, unknown: 0 });
  expect(smaller.would.ordered).toBeLessThan(11);
  expect(smaller.fewer).toBe(50 - smaller.would.ordered);
});

it("sentinels that never were ordered are unknown, and said to be", () => {
  const plan = buildFacts();
  const [first = ""] = idsOf(plan, 2);
  const facts = buildFacts({}, { failed: [first], waves: 2 });

  const { would: tolerated, notes } = replay(facts, { ...tolerant, wave_percentages: [10, 100] });

  expect(tolerated).toMatchObject({ end: "unknown", wave: 1, waves: 2, ordered: 5, unknown: 5 });
  expect(notes.join("\n")).toContain("5 sentinels would have been ordered, too");
  expect(notes.join("\n")).toContain("Nothing that is known would have stopped it by wave 1 of 2");
});

it("a rollout's own policy gives its own end", () => {
  const plan = buildFacts();
  const [first = ""] = idsOf(plan, 2);

  const result = replay(buildFacts({}, { failed: [first], waves: 2 }), {});

  expect(result.would).toEqual({
    ...{ end: "paused", cause: "sentinels", wave: 2, waves: 5 },
    ...{ ordered: 5, failed: 1, unknown: 0, seconds: 20 },
  });
  expect({ fewer: result.fewer, longer: result.longer_seconds }).toEqual({ fewer: 0, longer: 0 });
});

it("the time between waves in which nothing was deployed does not count", () => {
  const facts = buildFacts({ gapMs: 3_600_000 });

  expect(would(facts, {}).seconds).toBe(10 + 10 + 40 + 50 + 100);
  expect(replay(facts, { soak_seconds: 60 }).longer_seconds).toBe(300);
});

it("max_unavailable makes a rollout slower, and stops it once failures fill it", () => {
  const facts = withFailures([3, 0], [3, 1]);

  expect(would(facts, { ...tolerant, max_unavailable: 3 })).toMatchObject({ end: "completed" });
  expect(replay(facts, { max_unavailable: 3 }).longer_seconds).toBeGreaterThan(100);
  expect(would(facts, { ...tolerant, max_unavailable: 2 })).toMatchObject({
    ...{ end: "paused", cause: "budget", wave: 3 },
    reason: "2 unhealthy or failed, 2 are allowed (max_unavailable)",
  });
});

it("sentinels that a pin held back in their wave are not unknown", () => {
  const facts = buildFacts();
  const members = facts.members.map(({ result, ...member }, i) =>
    i === 7 ? { ...member, isPinned: true as const } : { ...member, ...(result && { result }) },
  );

  expect(would({ ...facts, members }, {})).toMatchObject({
    end: "completed",
    ordered: 99,
    unknown: 0,
  });
});

it("a list of soaks that does not fit the waves is refused", () => {
  expect(() => would(buildFacts(), { soak_seconds: [60, 0] })).toThrow(/2 times for 5/);
});

const failure = { location: "here", reason: "wrong status", status: 500, duration_ms: 3 };

/** A run each 10 s from the start; failed at the given seconds. */
function runsOf(check: string, seconds: number, failedAt: readonly number[] = []): CheckRun[] {
  return Array.from({ length: seconds / 10 }, (_, i): CheckRun => {
    const scheduledMs = startMs + i * 10_000 + 500;
    const hasFailed = failedAt.includes(i * 10);
    const at = new Date(scheduledMs).toISOString();
    return {
      ...{ check, scheduledMs, decidedMs: scheduledMs + 200, isClean: !hasFailed },
      failure: hasFailed ? { at, ...failure } : null,
    };
  });
}

const gate = { checks: ["liveness"], clean_runs: 3, timeout_seconds: 60 };

it("a gate waits for so many clean runs since the sentinels had the image", () => {
  const facts = buildFacts({ runs: runsOf("liveness", 600) });

  const { would: gated, longer_seconds } = replay(facts, { gate });

  expect(gated).toMatchObject({ end: "completed" });
  // Four waits for the third run, which is decided 20.7 s after a multiple of ten: waves then end 0.7 s later each.
  expect(longer_seconds).toBeCloseTo(4 * 20.7, 5);
});

it("a failed run of the gate's check stops the rollout", () => {
  const facts = buildFacts({ runs: runsOf("liveness", 600, [30]) });

  expect(would(facts, { gate })).toMatchObject({
    ...{ end: "paused", cause: "gate", wave: 1, ordered: 1 },
    reason: "the gate is closed: liveness failed at here (wrong status)",
  });
});

it("a gate whose check has too few runs times out", () => {
  const facts = buildFacts({ runs: runsOf("liveness", 30) });

  expect(would(facts, { gate })).toMatchObject({
    ...{ end: "paused", cause: "gate", wave: 1, seconds: 70 },
    reason: "the gate timed out: of clean runs liveness had 2 of 3",
  });
});

it("a gate that would read on after the rollout had ended is unknown, not timed out", () => {
  const facts = buildFacts({ runs: runsOf("liveness", 30), runsUntilMs: startMs + 40_000 });

  const { would: gated, notes } = replay(facts, { gate });

  expect(gated).toMatchObject({ end: "unknown", wave: 1 });
  expect(notes.join("\n")).toContain("The gate would have read its checks for longer");
});

it("a gate is played without a check that has no stored runs, and a note says so", () => {
  const { would: gated, notes } = replay(buildFacts(), { gate });

  expect(gated.end).toBe("completed");
  expect(notes).toEqual([
    "There are no stored runs of that time of liveness: the gate is played without.",
  ]);
});

it("a gate of another kind is not played, and a note says so", () => {
  const gates = [{ kind: "pause", timeout_seconds: 60, on_timeout: "pause" } as const];

  const { would: gated, notes } = replay(buildFacts(), { gates });

  expect(gated.end).toBe("completed");
  expect(notes).toEqual(["Only gates of checks are played: not pause."]);
});

it("a fleet of 50,000 is replayed within seconds", () => {
  const facts = buildFacts({ size: 50_000, parallel: 500 });
  const begunMs = performance.now();

  expect(
    replay(facts, { wave_percentages: [10, 100], max_unavailable: "10%" }).would,
  ).toMatchObject({ end: "completed", ordered: 50_000 });
  expect(performance.now() - begunMs).toBeLessThan(10_000);
});
