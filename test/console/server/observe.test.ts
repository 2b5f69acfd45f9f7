import { expect, it, onTestFinished, vi } from "vitest";
import type { WholeState } from "#console/events.ts";
import type { Moment, ReadMoment } from "#console/server/moment.ts";
import { createObserve } from "#console/server/observe.ts";
import type { RolloutStatus } from "#rollout/contract.ts";

const statusOf = (part: Partial<RolloutStatus> = {}): RolloutStatus => ({
  rollout_id: "r-1",
  state: "in_progress",
  image: "v2",
  current_wave: 1,
  total_waves: 1,
  total: 2,
  succeeded: 1,
  failed: 0,
  in_flight: 0,
  failed_sentinels: [{ id: "gw-9", reason: "timeout" }],
  started_at: null,
  updated_at: null,
  ...part,
});

/** History, in which so many of the two sentinels have succeeded. */
function momentOf(status: RolloutStatus, succeeded: number): Moment {
  const ids = ["gw-1", "gw-2"];
  const now = { image: "v2", running_image: "v2", deploy_status: "ready", deploy_reason: null };
  const wave = { wave: 1, percentage: 100, size: 2 };
  return {
    recorded: {
      status,
      requested_image: "v2",
      started_by: "ann",
      ended_at: null,
      wave_percentages: [100],
      waves: [{ ...wave, started_at: "2026-11-26T10:00:00Z", ended_at: "2026-11-26T10:01:00Z" }],
      messages: [],
      previous_images: [{ image: "v1", sentinels: succeeded }],
    },
    members: ids.map((id, n) => ({
      id,
      wave: 1,
      outcome: n < succeeded ? "succeeded" : null,
      outcome_reason: null,
      failure: null,
    })),
    fleet: ids.map((id) => ({ id, region: "eu", ...now, is_ordered: true })),
  };
}

const nothing: WholeState = { rollout: null, fleet: null, trouble: [] };

type Sides = {
  live: RolloutStatus | Error;
  moment: Moment | Error;
  nowMs: number;
  limitMs: number | undefined;
  /** In the place of the moment. */
  read?: ReadMoment;
};

/** What the two sides say is the test's to change. */
function startObserve(live: RolloutStatus, moment: Moment | Error) {
  const sides: Sides = { live, moment, nowMs: 0, limitMs: undefined };
  const answer = async <Value>(value: Value | Error): Promise<Value> => {
    if (value instanceof Error) throw value;
    return value;
  };
  const observe = createObserve({
    name: "singleton",
    readStatus: () => answer(sides.live),
    readMoment: (asked) => {
      sides.limitMs = asked.limitMs;
      return sides.read?.(asked) ?? answer(sides.moment);
    },
    legalOperations: (state) => (state === "completed" ? ["Rollout", "RollbackAll"] : ["Pause"]),
    nowMs: () => sides.nowMs,
  });
  return { sides, observe };
}

const completed = statusOf({ state: "completed", succeeded: 2 });

it("shows a rollout as completed with all its results, and not before", async () => {
  const { observe, sides } = startObserve(completed, momentOf(statusOf(), 1));

  const before = await observe(nothing);
  sides.moment = momentOf(completed, 2);
  const after = await observe(before);

  expect([before.rollout?.status.state, before.fleet?.marks]).toEqual(["in_progress", "sp"]);
  expect([after.rollout?.status.state, after.fleet?.marks]).toEqual(["completed", "ss"]);
  expect(after.trouble).toEqual([]);
});

it("shows the rollout's own state once history has been behind for too long, and says so", async () => {
  const { observe, sides } = startObserve(completed, momentOf(statusOf(), 1));
  await observe(nothing);

  sides.nowMs = 5_001;
  const { rollout, trouble } = await observe(nothing);

  expect(rollout?.status.state).toBe("completed");
  expect(trouble).toEqual([{ part: "history", detail: expect.stringContaining("is behind") }]);
});

it("does not count that history was behind when somebody looked the last time", async () => {
  const { observe, sides } = startObserve(completed, momentOf(statusOf(), 1));
  const known = await observe(nothing);

  sides.nowMs = 3_600_000;
  const { rollout, trouble } = await observe(known);

  expect([rollout?.status.state, trouble]).toEqual(["in_progress", []]);
});

it("shows a wait at last although results of its wave cannot be recorded, and says so", async () => {
  const waiting = statusOf({ waiting_for: "approval", succeeded: 2 });
  const { observe, sides } = startObserve(waiting, momentOf(waiting, 1));
  const early = await observe(nothing);

  sides.nowMs = 5_001;
  const { rollout, trouble } = await observe(early);

  expect([early.rollout?.status.waiting_for, early.trouble]).toEqual([null, []]);
  expect(rollout?.status.waiting_for).toBe("approval");
  expect(trouble).toEqual([{ part: "history", detail: expect.stringContaining("is behind") }]);
});

it("does not take the last known state of the rollout for a newer one while Restate is away", async () => {
  const { observe, sides } = startObserve(statusOf(), momentOf(statusOf(), 1));
  const known = await observe(nothing);

  sides.live = new Error("connection refused");
  sides.moment = momentOf(completed, 2);
  await observe(known);
  sides.nowMs = 60_000;
  const { rollout, trouble } = await observe(known);

  expect(rollout?.status.state).toBe("completed");
  expect(trouble).toEqual([{ part: "Restate", detail: "it cannot be reached" }]);
});

it("keeps what history has said while it is away, and nothing of another rollout", async () => {
  const { observe, sides } = startObserve(statusOf(), momentOf(statusOf(), 1));
  const known = await observe(nothing);

  sides.moment = new Error("connection refused");
  sides.live = statusOf({ state: "paused" });
  const same = await observe(known);
  sides.live = statusOf({ rollout_id: "r-2" });
  const other = await observe(known);

  expect(same.rollout).toMatchObject({ started_by: "ann", status: { state: "paused" } });
  expect(same.fleet).toEqual(known.fleet);
  expect([other.rollout?.started_by, other.fleet]).toEqual([null, null]);
});

it("says that the numbers are older than the state when the rollout goes on without history", async () => {
  const { observe, sides } = startObserve(statusOf({ in_flight: 1 }), momentOf(statusOf(), 1));
  const known = await observe(nothing);

  sides.moment = new Error("connection refused");
  const same = await observe(known);
  sides.live = completed;
  const further = await observe(same);

  const detail = "it cannot be reached";
  const older = `${detail}, and the numbers are older than the rollout's state`;
  expect(same.trouble).toEqual([{ part: "history", detail }]);
  expect(further.trouble).toEqual([{ part: "history", detail: older }]);
});

it("begins no read of history while the one before is not over", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const reading = Promise.withResolvers<Moment>();
  let reads = 0;
  const { observe, sides } = startObserve(statusOf({ in_flight: 1 }), momentOf(statusOf(), 1));
  const known = await observe(nothing);
  sides.read = () => {
    reads += 1;
    return reading.promise;
  };

  const late = observe(known);
  await vi.advanceTimersByTimeAsync(6_000);
  const again = await observe(await late);
  reading.reject(new Error("connection lost"));
  await vi.advanceTimersByTimeAsync(0);
  await observe(again);

  const detail = "it did not answer in time";
  expect(again.trouble).toEqual([{ part: "history", detail }]);
  expect(reads).toBe(2);
});

it("limits how long Postgres reads, and says that it took too long", async () => {
  const limit = Object.assign(new Error("canceling statement"), { code: "57014" });
  const { observe, sides } = startObserve(statusOf(), limit);

  const { trouble } = await observe(nothing);

  expect(sides.limitMs).toBe(5_000);
  expect(trouble).toEqual([{ part: "history", detail: "it did not answer in time" }]);
});

it("sends nothing that changes with every result and is not needed yet", async () => {
  const { observe, sides } = startObserve(statusOf(), momentOf(statusOf(), 1));

  const moving = await observe(nothing);
  sides.live = completed;
  sides.moment = momentOf(completed, 2);
  const ended = await observe(moving);

  expect(moving.rollout).toMatchObject({
    previous_images: [],
    status: { failed_sentinels: [] },
  });
  expect(ended.rollout).toMatchObject({
    previous_images: [{ image: "v1", sentinels: 2 }],
  });
});
