/** A rollout that goes on being watched once it has completed. */
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { RolloutHistory, RolloutStatus } from "#rollout/contract.ts";
import { aCheckResult } from "../../../support/monitor/check-builders.ts";
import { anApiRow, saveRecords, saveRow } from "../../../support/monitor/check-rows.ts";
import { modes } from "../../../support/replay.ts";
import { failing } from "../../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { startOver, untilStill } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

describe.each(modes)("a rollout with watch_for, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ size: 4, alwaysReplay, onDrift: () => "converge" });
  });

  afterAll(() => bench.stop());

  afterEach(() => startOver(bench));

  const status = async () => RolloutStatus.parse((await bench.call("Status")).body);

  const complete = async (fields: object = {}) => {
    const request = { image: imageV2, wave_percentages: [100], watch_for: 600, ...fields };
    const { body } = await bench.call("Rollout", request);
    expect(body.state).toBe("completed");
    const isInHistory = async () => {
      const ended = "SELECT FROM rollout_sentinels WHERE rollout_id = $1 AND outcome = 'succeeded'";
      return (await bench.database.query(ended, [body["rollout_id"]])).rowCount === 4;
    };
    await waitFor(isInHistory, { withinMs: 10_000, what: "history to have its results" });
    return RolloutStatus.parse(body);
  };

  const checkTwice = async () => {
    await bench.checkDrift();
    await bench.checkDrift();
  };

  const eventsOf = async (id: string | null) => {
    const text =
      "SELECT event, actor FROM rollout_messages WHERE rollout_id = $1 ORDER BY sequence";
    return (await bench.database.query(text, [id])).rows.map(({ event }) => event as string);
  };

  const untilTold = (id: string | null, event: string) =>
    waitFor(async () => (await eventsOf(id)).includes(event), { withinMs: 10_000, what: event });

  it("says until when it is watched", async () => {
    const startedMs = Date.now();
    const { watch_until: until = "" } = await complete();

    expect(Date.parse(until)).toBeGreaterThanOrEqual(startedMs + 600_000);
    expect((await status()).watch_until).toBe(until);
  });

  it("announces a sentinel that turns unhealthy once, and stays completed", async () => {
    const { rollout_id: id } = await complete();
    bench.fleet.sicken("s02");

    await bench.checkDrift();
    expect(await status()).not.toHaveProperty("cause");
    for (let i = 0; i < 3; i += 1) await bench.checkDrift();

    const found = await status();
    expect(found).toMatchObject({ state: "completed", outcome: "completed", cause: "sentinels" });
    expect(found.reason).toBe("after its completion: 1 sentinel does not run the image well");
    expect(found).not.toHaveProperty("watch_until");
    await untilTold(id, "fault found");
    expect((await eventsOf(id)).filter((event) => event === "fault found")).toHaveLength(1);
    const { rollouts } = RolloutHistory.parse((await bench.call("History", { limit: 1 })).body);
    expect(rollouts[0]).toMatchObject({ state: "completed", reason: found.reason });
  });

  it("ends the alert of its fault once another rollout has completed, and no sooner", async () => {
    const { rollout_id: id } = await complete();
    bench.fleet.sicken("s02");
    await checkTwice();
    bench.fleet.sicken();
    const posted = async (event: string) => {
      const text = "SELECT FROM alert_events WHERE notice -> 'rollout' @> $1";
      return (await bench.database.query(text, [{ id, event }])).rowCount;
    };
    await waitFor(async () => (await posted("fault found")) === 1, {
      withinMs: 10_000,
      what: "the alert",
    });
    const request = { image: imageV1.replace("v1", "v3"), wave_percentages: [100] };
    bench.fleet.behave(failing(["s03"]));
    expect((await bench.call("Rollout", request)).body.state).toBe("paused");
    await bench.call("Cancel");
    expect(await posted("fault gone")).toBe(0);
    bench.fleet.behave(() => ({ status: "ready" }));

    for (const image of [imageV1, imageV2]) await bench.call("Rollout", { ...request, image });

    await waitFor(async () => (await posted("fault gone")) === 1, {
      withinMs: 10_000,
      what: "the end of the alert",
    });
  });

  it("announces nothing of a fault that the next look does not find", async () => {
    await complete();
    bench.fleet.sicken("s02");
    await bench.checkDrift();
    bench.fleet.sicken();
    await checkTwice();

    expect(await status()).toMatchObject({ state: "completed", failed: 0 });
    expect(await status()).toHaveProperty("watch_until");
  });

  it("restores the previous images once, if it is to", async () => {
    const { rollout_id: id } = await complete({ on_failure: "rollback" });
    bench.fleet.sicken("s02");
    await checkTwice();
    const end = await untilStill(bench);
    bench.fleet.sicken();
    await checkTwice();

    expect(end).toMatchObject({ outcome: "rolled_back", succeeded: 0, failed: 0 });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV1]));
    expect(await status()).toMatchObject({ rollout_id: id, outcome: "rolled_back" });
    await untilTold(id, "rollback completed");
    expect((await eventsOf(id)).filter((event) => event === "rollback started")).toHaveLength(1);
  });

  it("counts its faults by max_failed", async () => {
    await complete({ max_failed: { in_all: 1 }, on_failure: "rollback" });
    bench.fleet.sicken("s02");
    await checkTwice();
    expect(await status()).toMatchObject({ state: "completed", failed: 1 });

    bench.fleet.sicken("s02", "s03");
    await checkTwice();

    expect(await untilStill(bench)).toMatchObject({ outcome: "rolled_back", cause: "budget" });
  });

  it("announces a failed run of a check of its gate", async () => {
    await complete({ gate: { checks: ["liveness"] } });
    const atMs = Date.now();
    const run = {
      checkId: "liveness",
      scheduledAtMs: atMs,
      startedAtMs: atMs,
      grade: "failed",
    } as const;
    await saveRecords(bench.database, { results: [aCheckResult({ ...run, reason: "502" })] });
    await saveRow(bench.database, "liveness", anApiRow({ decidedRunMs: atMs }));

    await bench.checkDrift();

    expect(await status()).toMatchObject({ state: "completed", cause: "gate" });
  });

  it("does not restore the images for a sentinel that the fleet lists no more", async () => {
    await complete({ on_failure: "rollback" });
    bench.fleet.remove("s02");
    await checkTwice();

    expect(await status()).toMatchObject({ state: "completed", cause: "fleet" });
  });

  it("takes a fault of a held sentinel for no fault of the image", async () => {
    await complete({ on_failure: "rollback" });
    const hold = { id: "hold-1", ids: ["s02"], reason: "a debug build" };
    await bench.post("vedette.v1.RolloutPins/Add", hold, "ada");
    onTestFinished(async () => {
      const removal = { id: hold.id, reason: "it is over" };
      await bench.post("vedette.v1.RolloutPins/Remove", removal, "ada");
    });
    bench.fleet.sicken("s02");
    await checkTwice();

    expect(await status()).toMatchObject({ state: "completed", failed: 0 });
  });

  it("holds a sentinel that was changed by hand before its watch takes it for a fault, at whatever time of a list", async () => {
    await complete({ on_failure: "rollback" });
    bench.fleet.run("s02", imageV1.replace("v1", "debug"));

    for (let i = 0; i < 3; i += 1) await bench.post("Test/checkDrift", { fleet: "singleton" });

    expect(await status()).toMatchObject({ state: "completed", failed: 0 });
    const { rows } = await bench.database.query("SELECT id, ids FROM rollout_pins");
    expect(rows).toMatchObject([{ ids: ["s02"] }]);
    const removal = { id: rows[0].id, reason: "it is over" };
    await bench.post("vedette.v1.RolloutPins/Remove", removal, "ada");
  });

  it("is watched no longer once another rollout has started", async () => {
    await complete({ on_failure: "rollback" });
    const image = imageV1.replace("v1", "v3");
    const { body } = await bench.call("Rollout", { image, wave_percentages: [100] });
    bench.fleet.sicken("s02");
    await checkTwice();

    expect(await status()).toMatchObject({ rollout_id: body["rollout_id"], state: "completed" });
  });

  it("is watched until its time is over", async () => {
    await complete({ watch_for: 1 });
    const { watch_until: until = "" } = await status();
    await waitFor(() => Date.now() > Date.parse(until), { withinMs: 3_000, what: "the end" });
    await bench.checkDrift();

    expect(await status()).not.toHaveProperty("watch_until");
  });
});
