/** Deploys of a run that has stopped, or that another has followed, on a real Postgres. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDeployer, type Deployer } from "#fleet/deploys/deployer.ts";
import type { Driver } from "#fleet/drivers/driver.ts";
import { createFleetStore, type FleetStore } from "#fleet/store.ts";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createTestListing } from "../../../support/rollout/fleet-listing.ts";
import { createMemoryFleet } from "../../../support/rollout/memory-fleet.ts";
import { imageV1, imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { createTestDatabase } from "../../../support/run/shared-postgres.ts";
import type { TestDatabase } from "../../../support/servers/servers.ts";

const timeoutMs = 10_000;

const fleet = createMemoryFleet(7);
let server: TestDatabase;
let database: Database;
let store: FleetStore;
let deployer: Deployer;

beforeAll(async () => {
  server = await createTestDatabase();
  await migrate(server.url, createLog({ level: "silent", format: "json" }));
  database = openDatabase(server.url, createLog({ level: "silent", format: "json" }));
  store = createFleetStore(database);
  deployer = createDeployer(fleet.driver, store);
  await createTestListing(database, fleet.driver).list();
});

afterAll(async () => {
  await database.end();
  await server.stop();
});

const row = async (id: string) => {
  const { rows } = await database.query("SELECT * FROM sentinels WHERE id = $1", [id]);
  return rows[0] as Record<string, unknown>;
};

describe("a deploy that is no longer wanted", () => {
  const orderFor = (sentinelId: string, deployId: string) => ({
    ...{ sentinelId, deployId, image: imageV2, run: `run-${sentinelId}` },
  });

  it("leaves the sentinel as it was", async () => {
    await store.stopRun("run-s01");

    const step = await deployer.start(orderFor("s01", "d2"), timeoutMs);

    expect(step.status).toBe("unordered");
    expect(await row("s01")).toMatchObject({ image: imageV1, deploy_status: "ready" });
  });

  it("leaves nothing progressing that a killed deploy before it has left so", async () => {
    const { sentinelId: id, ...killed } = orderFor("s02", "d1");
    await store.record({ id, ...killed, status: "progressing" });
    await store.stopRun("run-s02");

    const step = await deployer.start(orderFor("s02", "d2"), timeoutMs);

    expect(step.status).toBe("unordered");
    expect(await row("s02")).toMatchObject({
      image: imageV2,
      deploy_status: "failed",
      deploy_reason: "cancelled: its deploy was killed",
      health: "unknown",
    });
  });

  it.each([
    { when: "before", sent: 0, leaves: "unordered" },
    { when: "after", sent: 1, leaves: "ready" },
  ])("counts as ordered $sent when it is stopped $when the order was sent", async (given) => {
    const [id, run] = ["s03", `run-${given.when}`];
    const reached = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    const pause = async () => {
      reached.resolve();
      await stopped.promise;
    };
    const apply: Driver["apply"] = async (order, call) => {
      if (given.when === "before") await pause();
      const accepted = await fleet.driver.apply(order, call);
      if (given.when === "after") await pause();
      return accepted;
    };
    const slow = createDeployer({ ...fleet.driver, apply }, store);
    const step = slow.start({ ...orderFor(id, given.when), run }, timeoutMs);
    await reached.promise;

    await store.stopRun(run);
    const counted = await store.countOrdered([run], [id]);
    const atStop = await row(id);
    stopped.resolve();

    expect(atStop).toMatchObject({ deploy_run: run, deploy_status: "progressing" });
    expect(counted).toBe(given.sent);
    expect(await step).toMatchObject({ status: given.leaves });
    expect(store.unsent.size).toBe(0);
  });

  it("stays as it is when a later run wants the same deploy by then", async () => {
    const { sentinelId: id, ...order } = orderFor("s02", "d4");
    await store.stopRun(order.run);
    await store.record({ id, ...order, status: "progressing", run: "run-later" });

    await store.putBack({ id, deployId: "d4" });

    expect(await row(id)).toMatchObject({ deploy_id: "d4", deploy_status: "progressing" });
  });

  it("is found by its id, and with a run only if that has ordered it", async () => {
    const { sentinelId: id, ...order } = orderFor("s04", "d6");
    await store.record({ id, ...order, status: "progressing" });
    const deploys = new Map([[id, "d6"]]);

    const found = [undefined, order.run, "run-later"].map((run) => store.findOrdered(deploys, run));

    expect(await Promise.all(found)).toEqual([[id], [id], []]);
    expect(await store.findOrdered(new Map([[id, "d7"]]))).toEqual([]);
  });

  it("counts as ordered also who has left the fleet's list meanwhile", async () => {
    const { sentinelId: id, ...ordered } = orderFor("s03", "d3");
    await store.record({ id, ...ordered, status: "progressing" });
    await database.query("DELETE FROM sentinels WHERE id = $1", [id]);

    expect(await store.countOrdered(["run-s03"], ["s01", "s03"])).toBe(1);
  });

  it("is not ordered late, after those that have followed it", async () => {
    const run = "run-followed";
    const order = (deployId: string) => ({ sentinelId: "s01", image: imageV2, deployId, run });
    for (const deployId of ["first", "second", "third"]) {
      await deployer.start(order(deployId), timeoutMs);
    }
    const [before, ordered] = [await row("s01"), fleet.applied.length];

    const late = await deployer.start(order("first"), timeoutMs);

    expect(late.status).toBe("unordered");
    expect(await row("s01")).toEqual(before);
    expect(fleet.applied).toHaveLength(ordered);
    expect(before).toMatchObject({ deploy_id: "third", deploy_status: "ready" });
  });

  it("writes no result over that of a deploy which has followed it", async () => {
    const id = "s01";
    await store.record({ id, image: imageV2, status: "progressing", deployId: "early" });
    await store.record({ id, image: imageV1, status: "progressing", deployId: "late" });

    await store.record({ id, image: imageV2, status: "failed", reason: "x", endedId: "early" });

    expect(await row(id)).toMatchObject({ image: imageV1, deploy_status: "progressing" });
  });
});

describe("a deploy that is ordered only if the sentinel is idle", () => {
  const begin = (sentinelId: string, deployId: string, run = "run-a") =>
    deployer.start({ sentinelId, deployId, image: imageV2, run, onlyIfIdle: true }, timeoutMs);

  it("is refused while another one is in progress, and changes nothing", async () => {
    await store.record({ id: "s04", image: imageV1, status: "progressing", deployId: "other" });
    const [before, ordered] = [await row("s04"), fleet.applied.length];

    await expect(begin("s04", "d1")).rejects.toThrow("another deploy of the sentinel");

    expect(await row("s04")).toEqual(before);
    expect(fleet.applied).toHaveLength(ordered);
  });

  it("is refused even though its run has stopped: the other one goes on", async () => {
    await store.stopRun("run-b");
    await store.record({ id: "s05", image: imageV1, status: "progressing", deployId: "other" });

    await expect(begin("s05", "d2", "run-b")).rejects.toThrow("another deploy of the sentinel");

    expect(await row("s05")).toMatchObject({ deploy_id: "other", deploy_status: "progressing" });
  });

  it("is carried out when what is in progress is this deploy itself", async () => {
    await store.record({ id: "s06", image: imageV2, status: "progressing", deployId: "d3" });

    expect(await begin("s06", "d3")).toMatchObject({ status: "ready" });
    expect(await row("s06")).toMatchObject({ running_image: imageV2, deploy_status: "ready" });
  });

  it("is refused to all but one of many at the same moment", async () => {
    // One store writes the records of a sentinel one after the other.
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        createFleetStore(database).record({
          ...{ id: "s07", image: imageV2, status: "progressing", deployId: `many-${i}` },
          onlyIfIdle: true,
        }),
      ),
    );

    expect(answers.filter(({ isBusy }) => isBusy !== true)).toHaveLength(1);
  });
});
