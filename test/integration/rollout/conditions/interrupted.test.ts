/** A rollout that is paused in the midst of a wave or a wait, and resumed before that is over. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RolloutStatus } from "#rollout/contract.ts";
import { modes } from "../../../support/replay.ts";
import { failing } from "../../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { startOver, untilInFlight } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

const halves = { image: imageV2, wave_percentages: [50, 100] };

describe.each(modes)("a rollout that is interrupted, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ size: 8, maxParallel: 8, alwaysReplay });
  });

  afterAll(() => bench.stop());

  afterEach(() => startOver(bench));

  const untilStatus = (what: string, isWanted: (status: RolloutStatus) => boolean) =>
    waitFor(
      async () => {
        const status = RolloutStatus.parse((await bench.call("Status")).body);
        return isWanted(status) && status;
      },
      { withinMs: 30_000, what },
    );

  const updated = () =>
    [...bench.fleet.running()].filter(([, image]) => image === imageV2).map(([id]) => id);

  /** The first wave is in flight as a whole, paused, and resumed; the answers of both callers. */
  const interrupt = async (more: object = {}) => {
    bench.fleet.hold();
    const first = bench.call("Rollout", { ...halves, ...more });
    await untilInFlight(bench, 4);
    await bench.call("Pause");
    const second = bench.call("Resume");
    await untilStatus("the resumed rollout", ({ state }) => state === "in_progress");
    bench.fleet.release();
    return { first, second };
  };

  it("is led by one run alone, and deploys each sentinel once", async () => {
    const before = bench.fleet.applied.length;

    const { first, second } = await interrupt();

    expect((await first).body).toMatchObject({ state: "paused" });
    expect((await second).body).toMatchObject({ state: "completed", succeeded: 8, failed: 0 });
    expect(bench.fleet.applied.length - before).toBe(8);
  });

  it("waits no longer, in the next wave, for what the first one had in flight", async () => {
    const { second } = await interrupt({ soak_seconds: [600, 0] });
    await untilStatus("the soak", (status) => status.waiting_for === "soak");
    bench.fleet.hold();
    await bench.call("Skip", { reason: "seen enough" });
    const inFlight = await untilInFlight(bench, 4);
    bench.fleet.release();

    expect(inFlight).not.toHaveProperty("reason");
    expect(inFlight.current_wave).toBe(2);
    await second;
  });

  it("is stopped by the failures of the wave all the same", async () => {
    bench.fleet.behave(failing(["s01", "s02", "s03", "s04", "s05", "s06", "s07", "s08"]));

    const { second } = await interrupt();

    expect((await second).body).toMatchObject({ state: "paused", cause: "sentinels", failed: 4 });
    expect(updated()).toEqual([]);
  });

  it("soaks after the wave all the same", async () => {
    const { second } = await interrupt({ soak_seconds: [600, 0] });

    const soaking = await untilStatus("the soak", (status) => status.waiting_for === "soak");
    await bench.call("Skip", { reason: "seen enough" });

    expect(soaking).toMatchObject({ current_wave: 1, succeeded: 4 });
    expect((await second).body).toMatchObject({ state: "completed" });
  });

  it("obeys the second Pause as it did the first", async () => {
    const { second } = await interrupt({ soak_seconds: [600, 0] });
    await untilStatus("the soak", (status) => status.waiting_for === "soak");

    await bench.call("Pause");

    expect((await second).body).toMatchObject({ state: "paused", cause: "operator" });
    expect(updated()).toHaveLength(4);
  });

  it("tells its caller that it was paused when it was rolled back from there", async () => {
    bench.fleet.hold();
    const first = bench.call("Rollout", halves);
    await untilInFlight(bench, 4);
    await bench.call("Pause");
    const rollback = bench.call("RollbackAll");
    await untilStatus("the rollback", ({ state }) => state === "rolling_back");
    bench.fleet.release();

    expect((await first).body).toMatchObject({ state: "paused" });
    expect((await rollback).body).toMatchObject({ state: "cancelled", outcome: "rolled_back" });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV1]));
  });

  it("tries a sentinel again that failed in its soak, and goes on", async () => {
    await bench.send("Rollout", { ...halves, soak_seconds: [600, 0] });
    await untilStatus("the soak", (status) => status.waiting_for === "soak");
    const [id = ""] = updated();
    bench.fleet.sicken(id);
    await untilStatus("the pause", ({ state }) => state === "paused");
    bench.fleet.sicken();

    const resumed = bench.call("Resume", { retry_failed: true });
    await untilStatus("the soak", (status) => status.waiting_for === "soak");
    await bench.call("Skip", { reason: "seen enough" });

    expect((await resumed).body).toMatchObject({ state: "completed", succeeded: 8, failed: 0 });
  });

  it("rolls back a sentinel that failed in its soak, with the others", async () => {
    await bench.send("Rollout", { ...halves, soak_seconds: 600 });
    await untilStatus("the soak", (status) => status.waiting_for === "soak");
    const [id = ""] = updated();
    bench.fleet.sicken(id);
    await untilStatus("the pause", ({ state }) => state === "paused");

    const { body } = await bench.call("RollbackAll");

    expect(body).toMatchObject({
      state: "cancelled",
      reverted: 4,
      failed: 0,
      still_ordered_count: 0,
    });
    expect(updated()).toEqual([]);
  });
});
