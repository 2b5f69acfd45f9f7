/** What follows failures: the budget, an automatic rollback, and another try. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RolloutStatus } from "#rollout/contract.ts";
import { modes } from "../../../support/replay.ts";
import { failing } from "../../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { startOver, untilInFlight, untilStill } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

const halves = { image: imageV2, wave_percentages: [50, 100] };
const allIds = Array.from({ length: 12 }, (_, i) => `s${String(i + 1).padStart(2, "0")}`);

describe.each(modes)("a rollout with failures, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ maxParallel: 2, alwaysReplay });
  });

  afterAll(() => bench.stop());

  afterEach(() => startOver(bench));

  const rollout = async (request: object) =>
    RolloutStatus.parse((await bench.call("Rollout", request)).body);

  const runningNew = () =>
    [...bench.fleet.running()].filter(([, image]) => image === imageV2).map(([id]) => id);

  const outcomes = async () => {
    const { rows } = await bench.database.query(
      `SELECT outcome, count(*)::int AS count FROM rollout_sentinels
       WHERE rollout_id = (SELECT id FROM rollouts ORDER BY started_at DESC LIMIT 1)
       GROUP BY outcome`,
    );
    return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
  };

  it("goes on within its budget, and completes with what failed", async () => {
    bench.fleet.behave(failing(allIds.slice(0, 2)));

    const status = await rollout({ ...halves, max_failed: { in_all: 2 } });

    expect(status).toMatchObject({
      state: "completed",
      outcome: "completed",
      succeeded: 10,
      failed: 2,
    });
  });

  it("starts nothing more at the first failure over its budget, within the wave", async () => {
    bench.fleet.behave(failing(allIds));
    const appliedBefore = bench.fleet.applied.length;

    const status = await rollout({ ...halves, max_failed: { per_wave: 1 } });

    expect(status).toMatchObject({ state: "paused", cause: "budget", current_wave: 1 });
    expect(status.reason).toContain("1 is allowed (max_failed.per_wave)");
    // Two at a time: besides the two that failed only one that was in flight then.
    expect((await untilStill(bench)).failed).toBeLessThanOrEqual(3);
    expect(bench.fleet.applied.length - appliedBefore).toBeLessThanOrEqual(3);
  });

  it("continues the same wave when it is resumed after that", async () => {
    bench.fleet.behave(failing(allIds));
    await rollout({ ...halves, max_failed: { per_wave: 0 } });
    bench.fleet.behave(() => ({ status: "ready" }));

    const { body } = await bench.call("Resume");

    const status = RolloutStatus.parse(body);
    expect(status.state).toBe("completed");
    expect(status.succeeded + status.failed).toBe(12);
    expect(runningNew()).toHaveLength(status.succeeded);
  });

  it("tries the failed sentinels of the wave again when asked to, and counts each once", async () => {
    bench.fleet.behave(failing(allIds));
    await rollout(halves);
    bench.fleet.behave(() => ({ status: "ready" }));

    const { body } = await bench.call("Resume", { retry_failed: true });

    expect(body).toMatchObject({
      state: "completed",
      succeeded: 12,
      failed: 0,
      failed_sentinels: [],
    });
    expect(runningNew()).toHaveLength(12);
    await waitFor(async () => (await outcomes())["succeeded"] === 12, {
      withinMs: 10_000,
      what: "history to have the second results",
    });
  });

  it("pauses again for sentinels that fail again", async () => {
    bench.fleet.behave(failing(["s01"]));
    const first = await rollout({ image: imageV2, wave_percentages: [100] });

    const { body } = await bench.call("Resume", { retry_failed: true });

    expect(first).toMatchObject({ state: "paused", failed: 1 });
    expect(body).toMatchObject({ state: "paused", failed: 1, succeeded: 11 });
    expect(bench.fleet.applied.filter(({ id }) => id === "s01").length).toBeGreaterThanOrEqual(2);
  });

  /** What history has of the rollout once this event is the last; it is written asynchronously. */
  const eventsUntil = (last: string, rolloutId: string | null) =>
    waitFor(
      async () => {
        const { rows } = await bench.database.query(
          "SELECT event, actor FROM rollout_messages WHERE rollout_id = $1 ORDER BY sequence",
          [rolloutId],
        );
        return rows.at(-1)?.event === last && rows;
      },
      { withinMs: 10_000, what: `history to have "${last}"` },
    );

  it("restores the previous images by itself, and its caller waits for that", async () => {
    bench.fleet.behave((id, image) =>
      id === "s01" && image === imageV2
        ? { status: "failed", reason: "crash_loop" }
        : { status: "ready" },
    );

    const status = await rollout({
      image: imageV2,
      wave_percentages: [100],
      on_failure: "rollback",
    });

    expect(status).toMatchObject({
      state: "cancelled",
      outcome: "rolled_back",
      cause: "sentinels",
      succeeded: 0,
      failed: 1,
    });
    expect(runningNew()).toEqual([]);
    expect((await eventsUntil("rollback completed", status.rollout_id)).slice(-3)).toEqual([
      { event: "paused", actor: null },
      { event: "rollback started", actor: "on_failure" },
      { event: "rollback completed", actor: null },
    ]);
  });

  it("rolls back nothing by itself when the fleet's API failed", async () => {
    bench.fleet.behave(() => ({ status: "failed", reason: "unreachable: gone", isOfApi: true }));

    const status = await rollout({ ...halves, on_failure: "rollback" });

    expect(status).toMatchObject({ state: "paused", cause: "fleet" });
  });

  it("leaves failed sentinels alone in a rollback, unless they are included", async () => {
    bench.fleet.behave((id, image) =>
      id === "s01" && image === imageV2
        ? { status: "failed", reason: "crash_loop" }
        : { status: "ready" },
    );
    await rollout({ image: imageV2, wave_percentages: [100] });
    const orderedBack = () =>
      bench.fleet.applied.filter(({ id, image }) => id === "s01" && image === imageV1).length;
    const before = orderedBack();

    const alone = await bench.call("RollbackAll");
    const left = orderedBack();
    const included = await bench.call("RollbackAll", { include_failed: true });

    expect(alone.body).toMatchObject({ reverted: 11, still_ordered_count: 1 });
    expect(left).toBe(before);
    expect(included.body).toMatchObject({ reverted: 1, failed: 0, still_ordered_count: 0 });
    expect(orderedBack()).toBe(before + 1);
  });

  it("pauses by hand, finishes what is in flight, and resumes where it was", async () => {
    bench.fleet.hold();
    const started = bench.call("Rollout", halves);
    await untilInFlight(bench, 2);

    const paused = await bench.call("Pause");
    bench.fleet.release();

    expect(paused.body).toMatchObject({ state: "paused", cause: "operator", in_flight: 2 });
    expect((await started).body).toMatchObject({ state: "paused" });
    await untilInFlight(bench, 0);
    expect(runningNew()).toHaveLength(2);
    expect((await bench.call("Resume")).body).toMatchObject({ state: "completed", succeeded: 12 });
  });

  it.each([
    [{ max_failed: {} }, "per_wave"],
    [{ max_failed: { in_all: "200%" } }, "percentage"],
    [{ on_failure: "ignore" }, "on_failure"],
    [{ soak_seconds: [1, 2, 3] }, "as many as wave_percentages"],
  ])("refuses %j, and starts nothing", async (fields, word) => {
    const answer = await bench.call("Rollout", { ...halves, ...fields });

    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain(word);
  });
});

describe("a batch whose worker is killed while it begins deploys", () => {
  let bench: RolloutBench;
  let attempts = 0;

  beforeAll(async () => {
    bench = await startRolloutBench({
      // The first attempt is killed after eleven orders; the next one comes to another sentinel alone, which fails.
      starting: (start) => async (orders, fleet, atOnce) => {
        if (++attempts > 2) return start(orders, fleet, atOnce);
        const isFirst = attempts === 1;
        const answer = await start(isFirst ? orders.slice(1) : orders.slice(0, 1), fleet, atOnce);
        if (!isFirst) return answer;
        bench.fleet.behave(failing(orders.slice(0, 1).map(({ sentinelId }) => sentinelId)));
        throw new Error("killed");
      },
    });
  });

  afterAll(() => bench.stop());

  it("rolls back also those that only the killed attempt had ordered", async () => {
    const request = { image: imageV2, on_failure: "rollback", max_failed: { in_all: 0 } };

    await bench.call("Rollout", { ...request, wave_percentages: [100] });
    const status = await waitFor(
      async () => {
        const now = RolloutStatus.parse((await bench.call("Status")).body);
        return now.outcome === "rolled_back" && now;
      },
      { withinMs: 20_000, what: "the rollback" },
    );

    expect(status).toMatchObject({ in_flight: 0, failed: 1, succeeded: 0 });
    expect([...bench.fleet.running().values()]).not.toContain(imageV2);
  });
});
