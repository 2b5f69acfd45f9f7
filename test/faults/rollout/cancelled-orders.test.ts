/** What has been sent to a sentinel but not yet ordered when its run stops. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { RolloutPlan } from "#rollout/contract.ts";
import { failing } from "../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";
import { startOver, untilStill } from "../../support/rollout/standstill.ts";
import { waitFor } from "../../support/wait-for.ts";

const inTwoWaves = { image: imageV2, wave_percentages: [50, 100] };

describe("orders of a run that stops", { retry: 0 }, () => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ maxParallel: 12, killsPostgres: true });
  });

  afterAll(() => bench.stop());

  beforeEach(async () => {
    await startOver(bench);
    bench.fleet.applied.length = 0;
  });

  const orderedIds = () => [...new Set(bench.fleet.applied.map(({ id }) => id))].sort();

  /** Opens a transaction that blocks others. Returns a function that ends it. */
  const hold = async (sql: string, values: unknown[] = []) => {
    const client = await bench.database.connect();
    await client.query("BEGIN");
    await client.query(sql, values);
    const free = async () => {
      await client.query("ROLLBACK");
      client.release();
    };
    let freed: Promise<void> | undefined;
    const freeOnce = () => {
      freed ??= free();
      return freed;
    };
    onTestFinished(freeOnce);
    return freeOnce;
  };

  /** Holds up whatever is to be written of these sentinels. */
  const holdRows = (ids: string[]) =>
    hold("SELECT FROM sentinels WHERE id = ANY($1) FOR UPDATE", [ids]);

  /** Holds up every stop of a run, and nothing else. */
  const holdStops = () => hold("LOCK TABLE stopped_runs IN SHARE ROW EXCLUSIVE MODE");

  const untilReady = (count: number) =>
    waitFor(
      async () => {
        const { rows } = await bench.database.query(
          "SELECT count(*)::int AS n FROM sentinels WHERE running_image = $1",
          [imageV2],
        );
        return rows[0].n === count;
      },
      { withinMs: 20_000, what: `${count} sentinels to be ready` },
    );

  /** Of sentinels: history and the audit log may wait for each other. */
  const waitingWrites = async () => {
    const { rows } = await bench.database.query(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database()
       AND wait_event_type = 'Lock' AND query ~ '\\msentinels\\M'`,
    );
    return rows[0].n as number;
  };

  const untilHeldUp = () =>
    waitFor(async () => (await waitingWrites()) > 0, {
      withinMs: 20_000,
      what: "an order to be blocked",
    });

  const untilStopHeldUp = () =>
    waitFor(
      async () => {
        const { rows } = await bench.database.query(
          `SELECT FROM pg_locks JOIN pg_database AS d ON d.oid = database
           WHERE d.datname = current_database() AND relation = 'stopped_runs'::regclass AND NOT granted`,
        );
        return rows.length > 0;
      },
      { withinMs: 20_000, what: "a stop to be blocked" },
    );

  const untilState = (state: string) =>
    waitFor(async () => (await bench.call("Status")).body.state === state, {
      withinMs: 20_000,
      what: `state ${state}`,
    });

  const killRunner = async () => {
    const [runner] = await bench.query(
      "SELECT id FROM sys_invocation WHERE target_service_name = 'vedette.v1.RolloutRunner' AND status <> 'completed'",
    );
    await bench.kill(runner?.["id"] ?? "");
  };

  /** As an operator does who has lost patience. */
  const giveUpCancel = async () => {
    const [cancel] = await bench.query(
      "SELECT id FROM sys_invocation WHERE target_handler_name = 'Cancel' AND status <> 'completed'",
    );
    const address = `${bench.restate.adminUrl}/invocations/${cancel?.["id"]}/cancel`;
    expect((await fetch(address, { method: "PATCH" })).status).toBe(202);
  };

  type Row = Record<"id" | "image" | "running_image" | "deploy_status", string> & {
    deploy_reason: string | null;
  };

  const readRows = async (): Promise<Row[]> => {
    const { rows } = await bench.database.query(
      "SELECT id, image, running_image, deploy_status, deploy_reason FROM sentinels ORDER BY id",
    );
    return rows;
  };

  const isBefore = ({ image, running_image, deploy_status, deploy_reason }: Row) =>
    image === imageV1 &&
    running_image === imageV1 &&
    deploy_status === "ready" &&
    deploy_reason === null;

  /** A rollout in its second wave, of which three deploys are sent and about to be ordered; and its answer. */
  const startHalfOrdered = async () => {
    const { waves } = RolloutPlan.parse((await bench.call("Plan", inTwoWaves)).body);
    bench.fleet.hold();
    const rollout = bench.call("Rollout", inTwoWaves);
    await waitFor(() => bench.fleet.applied.length === 6, {
      withinMs: 20_000,
      what: "the first wave",
    });
    const free = await holdRows(waves[1]?.sentinels.slice(3) ?? []);
    bench.fleet.release();
    await untilHeldUp();
    return { free, rollout };
  };

  it("never go out after Cancel has answered, and the count shows those that did", async () => {
    const { free } = await startHalfOrdered();

    const { body: cancelled } = await bench.call("Cancel");
    const ordered = orderedIds();
    await free();
    bench.fleet.release();
    const status = await untilStill(bench);

    expect(ordered.length).toBeLessThanOrEqual(9);
    expect(cancelled).toMatchObject({ state: "cancelled", total: 12 });
    expect(cancelled["in_flight"]).toBeLessThanOrEqual(ordered.length - 6);
    expect(orderedIds()).toEqual(ordered);
    expect(status).toMatchObject({ succeeded: ordered.length, failed: 0 });
  });

  it("leave the sentinel as it was, also in the table", async () => {
    const { free } = await startHalfOrdered();
    await bench.call("Cancel");
    const ordered = orderedIds();
    await free();
    bench.fleet.release();
    await untilStill(bench);

    // An order that was held up is not counted as in flight, and its row is restored shortly after.
    await waitFor(async () => (await waitingWrites()) === 0, {
      withinMs: 20_000,
      what: "no order to be held up",
    });
    const isRestored = (row: Row) => ordered.includes(row.id) || isBefore(row);
    await waitFor(async () => (await readRows()).every(isRestored), {
      withinMs: 20_000,
      what: "the rows of sentinels that were not ordered to be as they were",
    });
  });

  it("that have ended count as in flight until their results are recorded", async () => {
    bench.fleet.hold();
    await bench.send("Rollout", inTwoWaves);
    await waitFor(() => orderedIds().length === 6, { withinMs: 20_000, what: "the first wave" });
    const free = await holdStops();
    const answer = bench.call("Cancel");
    await untilState("cancelled");
    bench.fleet.release();
    await untilReady(6);
    await free();

    const { body: cancelled } = await answer;

    expect(cancelled).toMatchObject({ state: "cancelled", succeeded: 0, in_flight: 6 });
    expect(await untilStill(bench)).toMatchObject({ succeeded: 6, failed: 0 });
  });

  it("are stopped for good before Cancel answers, also when Postgres was away meanwhile", async () => {
    bench.fleet.hold();
    await bench.send("Rollout", inTwoWaves);
    await waitFor(() => orderedIds().length === 6, { withinMs: 20_000, what: "the first wave" });
    await bench.postgres.kill9();

    const answer = bench.call("Cancel");
    await untilState("cancelled");
    await bench.postgres.restart();
    const cancelled = await answer;
    bench.fleet.release();
    const status = await untilStill(bench);

    expect(cancelled).toMatchObject({ status: 200, body: { state: "cancelled", in_flight: 6 } });
    expect(orderedIds()).toHaveLength(6);
    expect(status).toMatchObject({ succeeded: 6, failed: 0 });
  });

  it("are stopped although their Cancel is cancelled in Restate, and whoever waits is told how many there were", async () => {
    const { free, rollout } = await startHalfOrdered();
    const freeStops = await holdStops();
    const answer = bench.call("Cancel");
    await untilStopHeldUp();

    await giveUpCancel();
    const cancelled = await answer;
    await freeStops();
    const { body } = await rollout;
    const ordered = orderedIds();
    const { body: now } = await bench.call("Status");
    await free();
    const status = await untilStill(bench);

    expect(cancelled.status).toBe(409);
    expect(body).toMatchObject({ state: "cancelled", total: 12, in_flight: now["in_flight"] });
    expect(body["in_flight"]).toBeLessThanOrEqual(ordered.length - 6);
    expect(orderedIds()).toEqual(ordered);
    expect(status).toMatchObject({ state: "cancelled", succeeded: ordered.length, failed: 0 });
  });

  it("never go out after the runner was killed and the rollout is paused, and Resume takes them", async () => {
    const { free } = await startHalfOrdered();

    await killRunner();
    await untilState("paused");
    const ordered = orderedIds();
    await free();
    bench.fleet.release();
    const paused = await untilStill(bench);

    expect(orderedIds()).toEqual(ordered);
    expect(paused).toMatchObject({ state: "paused", succeeded: ordered.length, failed: 0 });
    const { body: resumed } = await bench.call("Resume");
    expect(resumed).toMatchObject({ state: "completed", succeeded: 12, failed: 0 });
  });

  it("never go out after the runner of a rollback was killed, and the next RollbackAll takes them", async () => {
    bench.fleet.behave(failing(["s01"]));
    await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
    bench.fleet.behave(() => ({ status: "ready" }));
    bench.fleet.applied.length = 0;
    const free = await holdRows(["s05", "s06", "s07"]);
    await bench.send("RollbackAll");
    await untilHeldUp();

    await killRunner();
    await untilState("cancelled");
    const ordered = orderedIds();
    await free();
    await untilStill(bench);

    expect(ordered.length).toBeLessThanOrEqual(8);
    expect(orderedIds()).toEqual(ordered);
    const { body: again } = await bench.call("RollbackAll");
    expect(again).toMatchObject({
      state: "cancelled",
      reverted: 11 - ordered.length,
      succeeded: 0,
    });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV1]));
  });
});
