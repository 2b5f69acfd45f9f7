/** A rollout that watches each wave for some time before it goes on. */
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { RolloutHistory, RolloutStatus } from "#rollout/contract.ts";
import { modes } from "../../../support/replay.ts";
import { type RolloutBench, startRolloutBench } from "../../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { startOver, untilWaitingFor } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

const halves = { image: imageV2, wave_percentages: [50, 100] };

describe.each(modes)("a rollout that soaks, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ size: 4, alwaysReplay });
  });

  afterAll(() => bench.stop());

  afterEach(() => startOver(bench));

  const status = async () => RolloutStatus.parse((await bench.call("Status")).body);

  const untilSoaking = () => untilWaitingFor(bench, "soak");

  const untilState = (state: string) =>
    waitFor(
      async () => {
        const now = await status();
        return now.state === state && now;
      },
      { withinMs: 30_000, what: `the rollout to be ${state}` },
    );

  const updated = () =>
    [...bench.fleet.running()].filter(([, image]) => image === imageV2).map(([id]) => id);

  it("starts the next wave at the end of the soak, and completes after the last one's", async () => {
    const startedMs = Date.now();
    const started = bench.call("Rollout", { ...halves, soak_seconds: [2, 1] });

    const soaking = await untilSoaking();
    const { body } = await started;

    expect(soaking).toMatchObject({ state: "in_progress", current_wave: 1, succeeded: 2 });
    expect(Date.parse(soaking.until ?? "")).toBeGreaterThanOrEqual(startedMs + 2_000);
    expect(body).toMatchObject({ state: "completed", waiting_for: null, succeeded: 4 });
    expect(Date.now() - startedMs).toBeGreaterThanOrEqual(3_000);
  });

  it("is in History with what it waits for and what was asked, and its plan too", async () => {
    const request = { ...halves, soak_seconds: [600, 0], max_failed: { in_all: "50%" } };
    const planned = await bench.call("Plan", request);
    await bench.send("Rollout", request);
    const { rollout_id: id, until } = await untilSoaking();

    const [newest] = await waitFor(
      async () => {
        const { rollouts } = RolloutHistory.parse((await bench.call("History", { limit: 1 })).body);
        return rollouts[0]?.rollout_id === id && rollouts[0].waiting_for !== null && rollouts;
      },
      { withinMs: 10_000, what: "history to have the wait" },
    );

    const { soak_seconds, max_failed } = request;
    expect(newest).toMatchObject({
      state: "in_progress",
      waiting_for: "soak",
      until,
      outcome: null,
    });
    expect(newest?.policy).toEqual({ soak_seconds, max_failed });
    expect((await status()).policy).toEqual({ soak_seconds, max_failed });
    expect(planned.body).toMatchObject({
      on_failure: "pause",
      max_failed: 2,
      waves: [{ soak_seconds: 600 }, { soak_seconds: 0 }],
    });
  });

  it("pauses for a sentinel that turns unhealthy, which counts as failed", async () => {
    await bench.send("Rollout", { ...halves, soak_seconds: 600 });
    await untilSoaking();
    const [id = ""] = updated();

    bench.fleet.sicken(id);
    const paused = await untilState("paused");

    expect(paused).toMatchObject({ cause: "sentinels", succeeded: 1, failed: 1 });
    expect(paused.failed_sentinels).toEqual([{ id, reason: expect.stringContaining("unhealthy") }]);
    await waitFor(
      async () => {
        const { rows } = await bench.database.query(
          "SELECT outcome FROM rollout_sentinels WHERE rollout_id = $1 AND sentinel_id = $2",
          [paused.rollout_id, id],
        );
        return rows[0]?.outcome === "failed";
      },
      { withinMs: 10_000, what: "history to have the failure" },
    );
  });

  it("rolls back by itself when a sentinel has reverted, if it is to", async () => {
    const started = bench.call("Rollout", {
      ...halves,
      soak_seconds: 600,
      on_failure: "rollback",
    });
    await untilSoaking();
    const [id = ""] = updated();

    bench.fleet.revert(id, imageV1);
    const { body } = await started;

    expect(body).toMatchObject({ state: "cancelled", outcome: "rolled_back", failed: 0 });
    expect(updated()).toEqual([]);
  });

  it("is skipped with a reason, which the message and history have", async () => {
    const started = bench.call("Rollout", { ...halves, soak_seconds: [600, 0] });
    await untilSoaking();

    const skipped = await bench.call("Skip", { reason: "incident 4711" });
    const { body } = await started;

    expect(skipped.body).toMatchObject({ state: "in_progress" });
    expect(body).toMatchObject({ state: "completed", succeeded: 4 });
    const told = await waitFor(
      async () => {
        const { rows } = await bench.database.query(
          "SELECT actor, message FROM rollout_messages WHERE rollout_id = $1 AND event = 'skipped'",
          [body["rollout_id"]],
        );
        return rows[0];
      },
      { withinMs: 10_000, what: "history to have the skip" },
    );
    expect(told.actor).toBe("local-caller");
    expect(JSON.stringify(told.message)).toContain("incident 4711");
  });

  it("refuses to skip another wait than the one that was seen", async () => {
    await bench.send("Rollout", { ...halves, soak_seconds: 600 });
    await untilSoaking();

    const reason = "as agreed";
    const other = await bench.call("Skip", { reason, waiting_for: "gate" });
    const later = await bench.call("Skip", { reason, waiting_for: "soak", wave: 2 });
    const same = await bench.call("Skip", { reason, waiting_for: "soak", wave: 1 });

    expect([other.status, later.status, same.status]).toEqual([409, 409, 200]);
    expect(JSON.stringify(other.body)).toContain("waits for the soak after wave 1");
  });

  it("refuses to skip without a reason, and when there is nothing to skip", async () => {
    const nothing = await bench.call("Skip", { reason: "why not" });
    const silent = await bench.call("Skip", {});

    expect([nothing.status, silent.status]).toEqual([409, 400]);
  });

  it("goes on with its soak when it was paused by hand meanwhile", async () => {
    await bench.send("Rollout", { ...halves, soak_seconds: [600, 0] });
    const { until } = await untilSoaking();
    await bench.call("Pause");
    await untilState("paused");

    const resumed = bench.call("Resume");
    const soaking = await untilSoaking();
    await bench.call("Skip", { reason: "seen enough" });

    expect(soaking.until).toBe(until);
    expect((await resumed).body).toMatchObject({ state: "completed" });
  });

  it("takes one look first when it is resumed after its end", async () => {
    const started = bench.call("Rollout", { ...halves, soak_seconds: [2, 0] });
    const { until = "" } = await untilSoaking();
    await bench.call("Pause");
    await started;
    const [id = ""] = updated();
    bench.fleet.remove(id);
    await waitFor(() => Date.now() > Date.parse(until), { withinMs: 10_000, what: "its end" });

    await bench.send("Resume");
    const paused = await waitFor(
      async () => {
        const now = await status();
        return now.state === "paused" && now.cause !== "operator" && now;
      },
      { withinMs: 30_000, what: "the rollout to pause by itself" },
    );

    expect(paused).toMatchObject({ cause: "fleet", current_wave: 1, failed: 1 });
    expect(paused.failed_sentinels).toEqual([
      { id, reason: expect.stringContaining("target_gone") },
    ]);
    expect(updated()).toHaveLength(1);
  });

  it("is cancelled at once while the fleet's list does not come", async () => {
    const started = bench.call("Rollout", { ...halves, soak_seconds: [1, 0] });
    await untilSoaking();
    bench.fleet.holdList();
    onTestFinished(() => bench.fleet.releaseList());
    await waitFor(() => bench.fleet.waitingForList() > 0, {
      withinMs: 10_000,
      what: "a look at the fleet",
    });

    const cancelledMs = performance.now();
    await bench.call("Cancel");

    expect((await started).body).toMatchObject({ state: "cancelled" });
    // Restate ends an attempt that is replayed at each step only when its reading has given up.
    expect(performance.now() - cancelledMs).toBeLessThan(alwaysReplay ? 45_000 : 10_000);
  });

  it("is cancelled at once, and its caller is answered", async () => {
    const started = bench.call("Rollout", { ...halves, soak_seconds: 600 });
    await untilSoaking();

    await bench.call("Cancel");

    expect((await started).body).toMatchObject({ state: "cancelled", outcome: "cancelled" });
    expect(updated()).toHaveLength(2);
  });
});
