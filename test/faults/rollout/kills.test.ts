import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { failing } from "../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";
import { startOver, untilInFlight, untilStill } from "../../support/rollout/standstill.ts";
import { waitFor } from "../../support/wait-for.ts";

const allAtOnce = { image: imageV2, wave_percentages: [100] };

/** State of batches whose rollout was superseded. */
const kept =
  "SELECT key FROM state WHERE service_name = 'vedette.v1.SentinelRolloutService' AND key LIKE 'late:%'";

/** Every invocation of a rollout, by the name of its service and handler. */
const victims = {
  caller:
    "target_service_name = 'vedette.v1.SentinelRolloutService' AND target_handler_name = 'Rollout'",
  runner: "target_service_name = 'vedette.v1.RolloutRunner'",
  capture: "target_service_name = 'vedette.v1.RolloutCapture'",
  batch: "target_service_name = 'vedette.v1.RolloutBatch'",
  deploy: "target_service_name = 'vedette.v1.SentinelService'",
  watch: "target_service_name = 'vedette.v1.RolloutWatch'",
  timer: "target_handler_name = 'repair'",
} as const;

describe("a rollout of which something is killed", { retry: 0 }, () => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ maxParallel: 4 });
  });

  afterAll(() => bench.stop());

  beforeEach(() => startOver(bench));

  const killAll = async (...names: (keyof typeof victims)[]) => {
    const where = names.map((name) => `(${victims[name]})`).join(" OR ");
    const rows = await bench.query(
      `SELECT id FROM sys_invocation WHERE (${where}) AND status <> 'completed'`,
    );
    expect(rows.length).toBeGreaterThan(0);
    await Promise.all(rows.map(({ id = "" }) => bench.kill(id)));
  };

  const startHeld = async () => {
    bench.fleet.hold();
    await bench.send("Rollout", allAtOnce);
    await untilInFlight(bench, 4);
    // Deploys have invocations of their own once they have not ended in a moment.
    const followed = `SELECT id FROM sys_invocation WHERE ${victims.deploy} AND status <> 'completed'`;
    await waitFor(async () => (await bench.query(followed)).length === 4, {
      withinMs: 10_000,
      what: "four deploys with invocations of their own",
    });
  };

  it("continues to its end without its caller", async () => {
    await startHeld();

    await killAll("caller");

    bench.fleet.release();
    expect(await untilStill(bench)).toMatchObject({ state: "completed", succeeded: 12 });
  });

  it("is paused with the reason when the runner is killed, and keeps what is in flight", async () => {
    await startHeld();

    await killAll("runner");

    const paused = await waitFor(
      async () => {
        const { body } = await bench.call("Status");
        return body.state === "paused" && body;
      },
      { withinMs: 10_000, what: "the rollout to pause" },
    );
    bench.fleet.release();
    expect(paused["reason"]).toContain("the run ended early: killed");
    expect(await untilStill(bench)).toMatchObject({ state: "paused", succeeded: 4, failed: 0 });
  });

  it("continues the rest of the wave on Resume after the runner was killed", async () => {
    await startHeld();
    await killAll("runner");
    bench.fleet.release();
    await untilStill(bench);

    const { body } = await bench.call("Resume");

    expect(body).toMatchObject({ state: "completed", succeeded: 12, failed: 0 });
    expect(body).not.toHaveProperty("reason");
  });

  it("restarts a killed batch, which deploys no sentinel a second time", async () => {
    const before = bench.fleet.applied.length;
    await startHeld();

    await killAll("batch");

    bench.fleet.release();
    expect(await untilStill(bench)).toMatchObject({ state: "completed", succeeded: 12, failed: 0 });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV2]));
    const deploys = bench.fleet.applied.slice(before).map(({ deployId }) => deployId);
    expect(new Set(deploys).size).toBe(12);
  });

  it("counts a killed deploy as failed with the reason, and pauses", async () => {
    await startHeld();

    await killAll("deploy");

    bench.fleet.release();
    const status = await untilStill(bench);
    expect(status).toMatchObject({ state: "paused", succeeded: 8, failed: 4 });
    expect(JSON.stringify(status["failed_sentinels"])).toContain("cancelled: the deploy ended");
  });

  it("leaves no sentinel progressing after its deploy was killed", async () => {
    await startHeld();
    await killAll("deploy");
    bench.fleet.release();
    await untilStill(bench);

    const query = "SELECT count(*)::int AS n FROM sentinels WHERE deploy_status = 'progressing'";

    await waitFor(async () => (await bench.database.query(query)).rows[0].n === 0, {
      withinMs: 5_000,
      what: "no sentinel to be progressing",
    });
  });

  it("can be cancelled and rolled back when caller, runner, batch, watch and timer are all killed", async () => {
    await startHeld();

    await killAll("caller", "runner", "batch", "watch", "timer");

    bench.fleet.release();
    const cancelled = await bench.call("Cancel");
    const { body } = await bench.call("RollbackAll");
    expect(cancelled.status).toBe(200);
    expect(body).toMatchObject({ state: "cancelled", in_flight: 0, not_reverted: [] });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV1]));
  });

  it("is found by the repair timer when caller, runner and watch are all killed", async () => {
    await startHeld();

    await killAll("caller", "runner", "watch");
    const { runner = "" } = await bench.state("rolloutState");
    bench.fleet.release();
    // The timer fires after 30 s; here it is called at once.
    await bench.repair(runner);

    expect(await untilStill(bench)).toMatchObject({ state: "paused" });
  });

  it("is paused with the reason when the fleet cannot be listed, and begins on Resume", async () => {
    bench.fleet.away(true);
    const { body: paused } = await bench.call("Rollout", allAtOnce);
    bench.fleet.away(false);

    const { body: resumed } = await bench.call("Resume");

    expect(paused).toMatchObject({ state: "paused", cause: "fleet", total: 0, total_waves: 0 });
    expect(paused["reason"]).toContain("unreachable: the fleet is away");
    expect(resumed).toMatchObject({ state: "completed", total: 12, succeeded: 12 });
  });

  it("does not blame the fleet when the listing of it is killed, and begins on Resume", async () => {
    bench.fleet.holdList();
    const asked = bench.call("Rollout", allAtOnce);
    await waitFor(
      async () =>
        (
          await bench.query(
            `SELECT id FROM sys_invocation WHERE ${victims.capture} AND status = 'running'`,
          )
        ).length > 0,
      { withinMs: 10_000, what: "the fleet to be listed" },
    );

    await killAll("capture");

    const { body: paused } = await asked;
    bench.fleet.releaseList();
    const { body: resumed } = await bench.call("Resume");
    expect(paused).toMatchObject({ state: "paused", cause: "run", total: 0 });
    expect(paused["reason"]).toContain("killed");
    expect(resumed).toMatchObject({ state: "completed", total: 12, succeeded: 12 });
  });

  it("ends a rollback whose runner is killed, and lets it be called again", async () => {
    bench.fleet.behave(failing(["s01"]));
    await bench.call("Rollout", allAtOnce);
    bench.fleet.behave(() => ({ status: "ready" }));
    bench.fleet.hold();
    const asked = bench.call("RollbackAll");
    await untilInFlight(bench, 4);

    await killAll("runner");

    const { body: early } = await asked;
    bench.fleet.release();
    const status = await untilStill(bench);
    const again = await bench.call("RollbackAll");
    expect(early).toMatchObject({ state: "cancelled", reverted: 0, succeeded: 11 });
    expect(early["not_reverted"]).toHaveLength(11);
    expect(status).toMatchObject({ state: "cancelled", succeeded: 7 });
    expect(status["reason"]).toContain("killed");
    expect(again.body).toMatchObject({ state: "cancelled", reverted: 7, succeeded: 0 });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV1]));
  });

  it("closes a killed batch of a cancelled rollout that another one has followed", async () => {
    await startHeld();
    await bench.call("Cancel");
    await bench.send("Rollout", { ...allAtOnce, image: imageV1.replace("v1", "v3") });
    await waitFor(async () => (await bench.query(kept)).length > 0, {
      withinMs: 10_000,
      what: "the batch of the first rollout to be kept",
    });

    await killAll("batch");

    bench.fleet.release();
    expect(await untilStill(bench)).toMatchObject({ state: "completed", succeeded: 12 });
    await waitFor(async () => (await bench.query(kept)).length === 0, {
      withinMs: 10_000,
      what: "the killed batch to be closed",
    });
  });

  it("stops like a Cancel of that batch's wave when the batch is cancelled in Restate", async () => {
    await startHeld();
    const [row] = await bench.query(
      `SELECT id FROM sys_invocation WHERE ${victims.batch} AND status <> 'completed'`,
    );

    await fetch(`${bench.restate.adminUrl}/invocations/${row?.["id"]}/cancel`, { method: "PATCH" });

    bench.fleet.release();
    expect(await untilStill(bench)).toMatchObject({ state: "paused", succeeded: 4, failed: 0 });
  });
});
