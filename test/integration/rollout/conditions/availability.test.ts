/** Rollouts that bound how many sentinels are unavailable at one time. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RolloutStatus } from "#rollout/contract.ts";
import { modes } from "../../../support/replay.ts";
import { failing } from "../../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../../support/rollout/rollout-bench.ts";
import { imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { startOver, untilStill } from "../../../support/rollout/standstill.ts";

const size = 8;
const whole = { image: imageV2, wave_percentages: [100] };
const allIds = Array.from({ length: size }, (_, i) => `s0${i + 1}`);

describe.each(modes)("a rollout with max_unavailable, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ size, maxParallel: 6, alwaysReplay });
  });

  afterAll(() => bench.stop());

  afterEach(() => startOver(bench));

  const rollout = async (request: object) =>
    RolloutStatus.parse((await bench.call("Rollout", { ...whole, ...request })).body);

  const inFlight = async () => (await bench.call("Status")).body["in_flight"];

  /** The ids of all deploys so far, in order. */
  const applied = () => bench.fleet.applied.map(({ id }) => id);

  it("has no more in flight at once", async () => {
    bench.fleet.forgetMaxInFlight();
    bench.fleet.hold();
    const started = rollout({ max_unavailable: "25%" });
    await expect.poll(inFlight).toBe(2);
    bench.fleet.release();

    const status = await started;

    expect(status).toMatchObject({ state: "completed", succeeded: 8 });
    expect(bench.fleet.maxInFlight()).toBe(2);
  });

  it("pauses when those that failed take every place, and orders no other", async () => {
    bench.fleet.behave(failing(allIds));
    const before = applied().length;

    const status = await rollout({ max_unavailable: 3 });

    expect(status).toMatchObject({ state: "paused", cause: "budget", failed: 3, in_flight: 0 });
    expect(status.reason).toBe("3 unhealthy or failed, 3 are allowed (max_unavailable)");
    expect(applied().length - before).toBe(3);
  });

  it("finishes the wave when fewer have failed", async () => {
    bench.fleet.behave(failing(["s01", "s02"]));

    const status = await rollout({ max_unavailable: 3, max_failed: { in_all: 2 } });

    expect(status).toMatchObject({ state: "completed", succeeded: 6, failed: 2 });
  });

  it("counts sentinels that are unhealthy already, and does not begin with too many", async () => {
    bench.fleet.sicken("s01", "s02");
    const before = applied().length;

    const paused = await rollout({ max_unavailable: 2, exclude: [{ ids: ["s01", "s02"] }] });
    const { body: again } = await bench.call("Resume");
    const ordered = applied().length - before;
    bench.fleet.sicken("s01");
    bench.fleet.forgetMaxInFlight();
    const { body } = await bench.call("Resume");

    const reason = "2 unhealthy, 2 are allowed (max_unavailable)";
    expect(paused).toMatchObject({ state: "paused", cause: "fleet", reason, current_wave: 0 });
    expect(again).toMatchObject({ state: "paused", cause: "fleet", reason });
    expect(ordered).toBe(0);
    expect(body).toMatchObject({ state: "completed", succeeded: 6 });
    expect(bench.fleet.maxInFlight()).toBe(1);
  });

  it("deploys unhealthy sentinels first: they cost nothing, and may recover", async () => {
    bench.fleet.sicken("s05", "s07", "s08");
    const before = applied().length;

    const status = await rollout({ max_unavailable: 2 });

    expect(status).toMatchObject({ state: "completed", succeeded: 8 });
    expect(
      applied()
        .slice(before, before + 3)
        .toSorted(),
    ).toEqual(["s05", "s07", "s08"]);
  });

  it("tries failed sentinels again although they are unhealthy", async () => {
    bench.fleet.behave(failing(allIds));
    const { failed_sentinels: failed } = await rollout({ max_unavailable: 1 });
    bench.fleet.sicken(...failed.map(({ id }) => id));
    bench.fleet.behave(() => ({ status: "ready" }));

    const plain = (await bench.call("Resume")).body;
    const { body } = await bench.call("Resume", { retry_failed: true });

    expect(failed).toHaveLength(1);
    expect(plain).toMatchObject({ state: "paused", cause: "fleet", succeeded: 0 });
    expect(body).toMatchObject({ state: "completed", succeeded: 8, failed: 0 });
  });

  it("rolls back without a bound when it failed, by on_failure", async () => {
    let first = "";
    bench.fleet.behave((id, image) => {
      first ||= id;
      return image === imageV2 && id !== first
        ? { status: "failed", reason: "crash_loop: exit code 1" }
        : { status: "ready" };
    });

    await rollout({ max_unavailable: 1, on_failure: "rollback" });

    expect(await untilStill(bench)).toMatchObject({
      state: "cancelled",
      outcome: "rolled_back",
      succeeded: 0,
      cause: "budget",
    });
  });

  it("restores nothing when the fleet's API has failed, which is not the image's fault", async () => {
    const away = { status: "failed", reason: "unreachable: no answer", isOfApi: true } as const;
    bench.fleet.behave((_, image) => (image === imageV2 ? away : { status: "ready" }));

    const status = await rollout({ max_unavailable: 1, on_failure: "rollback" });

    expect(status).toMatchObject({ state: "paused", cause: "fleet", failed: 1 });
  });

  it("does not stop a soak for what one look has found", async () => {
    const request = { wave_percentages: [50, 100], soak_seconds: [11, 0], max_unavailable: 1 };
    const started = rollout(request);
    await expect.poll(async () => (await bench.call("Status")).body["waiting_for"]).toBe("soak");
    const [first = ""] = [...bench.fleet.running()].flatMap(([id, image]) =>
      image === imageV2 ? [id] : [],
    );
    const lists = bench.fleet.lists();
    bench.fleet.sicken(first);
    await expect.poll(() => bench.fleet.lists()).toBeGreaterThan(lists);
    bench.fleet.sicken();

    expect(await started).toMatchObject({ state: "completed", succeeded: 8, failed: 0 });
  });

  it("pauses when the fleet cannot be listed before a wave", async () => {
    bench.fleet.hold();
    const request = { wave_percentages: [50, 100], max_unavailable: 8 };
    const started = rollout(request);
    await expect.poll(inFlight).toBe(4);
    bench.fleet.away(true);
    bench.fleet.release();

    const status = await started;
    bench.fleet.away(false);
    const { body } = await bench.call("Resume");

    expect(status).toMatchObject({ state: "paused", cause: "fleet", succeeded: 4 });
    expect(status.reason).toContain("the fleet could not be listed");
    expect(body).toMatchObject({ state: "completed", succeeded: 8 });
  });
});
