/** What every driver has to do, run on each entry of the registry. */
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { FleetConfig } from "#fleet/config.ts";
import type { DeployOrder, Driver, SentinelObservation } from "#fleet/drivers/driver.ts";
import { UnwantedError } from "#fleet/drivers/driver.ts";
import { drivers } from "#fleet/drivers/index.ts";
import { createLog } from "#kernel/log.ts";
import { startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const image = (tag: string) => `registry.example.com/vedette/sentinel:${tag}`;

const baseConfig: FleetConfig = {
  driver: "process",
  deploy_timeout_seconds: 20,
  list_every_seconds: 60,
  process: { size: 2, upstream_url: "", base_port: 0, trusted_proxies: [] },
  http: { url: "", token: "" },
};

/** A driver over a fleet of two whose images ending in `-crash` fail. */
const startDriver: Record<FleetConfig["driver"], () => Promise<Driver>> = {
  process: async () => {
    const dir = makeTempDir();
    const driver = drivers.process({ ...parts, fleet: baseConfig, dataDir: dir.path });
    onTestFinished(async () => {
      await driver.stop();
      dir.remove();
    });
    return driver;
  },
  http: async () => {
    const fleet = await startFakeFleet({
      size: 2,
      behave: (_, wanted) =>
        wanted.endsWith("-crash")
          ? { failAfterMs: 20, reason: "crash_loop: exit code 1" }
          : { readyAfterMs: 20 },
    });
    const http = { url: fleet.url, token: fleet.token };
    const driver = drivers.http({ ...parts, fleet: { ...baseConfig, driver: "http", http } });
    onTestFinished(async () => {
      await driver.stop();
      await fleet.stop();
    });
    return driver;
  },
};

const parts = {
  dataDir: path.join("unused"),
  apiUrl: "http://127.0.0.1:9",
  rootKey: "root",
  log: createLog({ level: "silent", format: "json" }),
};

function untilSettled(driver: Driver, order: DeployOrder): Promise<SentinelObservation> {
  return waitFor(
    async () => {
      const seen = await driver.observe(order);
      return seen.status !== "progressing" && seen;
    },
    { withinMs: 20_000, what: "the deploy to settle" },
  );
}

describe.each(Object.keys(drivers) as FleetConfig["driver"][])("the driver %s", (name) => {
  it("lists every sentinel with its region and image", async () => {
    const driver = await startDriver[name]();
    await driver.start();

    const list = await driver.list();

    expect(list).toHaveLength(2);
    for (const sentinel of list) {
      expect(sentinel).toMatchObject({
        id: expect.stringMatching(/./),
        region: expect.stringMatching(/./),
        image: image("v1"),
        healthy: true,
        labels: { tier: expect.stringMatching(/^(canary|stable)$/) },
      });
    }
  });

  it("replaces the image of one sentinel, and of no other", async () => {
    const driver = await startDriver[name]();
    await driver.start();
    const [first, second] = await driver.list();
    const sentinelId = first?.id ?? "";

    const order = { sentinelId, image: image("v2"), deployId: "d1" };
    await driver.apply(order);
    const seen = await untilSettled(driver, order);

    expect(seen).toMatchObject({ status: "ready", running_image: image("v2") });
    const after = await driver.list();
    expect(after.find(({ id }) => id === second?.id)?.image).toBe(image("v1"));
  });

  it("fails with a reason code, and leaves the old image running", async () => {
    const driver = await startDriver[name]();
    await driver.start();
    const [first] = await driver.list();
    const sentinelId = first?.id ?? "";

    const order = { sentinelId, image: image("v2-crash"), deployId: "d1" };
    await driver.apply(order);
    const seen = await untilSettled(driver, order);

    expect(seen).toMatchObject({
      status: "failed",
      reason: "crash_loop: exit code 1",
      running_image: image("v1"),
    });
  });

  it("changes nothing when an order is repeated", async () => {
    const driver = await startDriver[name]();
    await driver.start();
    const [first] = await driver.list();
    const order = { sentinelId: first?.id ?? "", image: image("v2-crash"), deployId: "d1" };
    await driver.apply(order);
    await untilSettled(driver, order);

    await driver.apply(order);

    expect(await driver.observe(order)).toMatchObject({ status: "failed" });
  });

  it("tries the same image again under another deploy", async () => {
    const driver = await startDriver[name]();
    await driver.start();
    const [first] = await driver.list();
    const order = { sentinelId: first?.id ?? "", image: image("v2"), deployId: "d1" };
    const again = { ...order, deployId: "d2" };
    await driver.apply(order);
    await untilSettled(driver, order);

    await driver.apply(again);

    expect(await untilSettled(driver, again)).toMatchObject({ status: "ready" });
  });

  it("tells whether an order was given, and gives none that is no longer wanted", async () => {
    const driver = await startDriver[name]();
    await driver.start();
    const [first] = await driver.list();
    const order = { sentinelId: first?.id ?? "", image: image("v2"), deployId: "d1" };

    const refused = driver.apply(order, { isWanted: () => false });
    await expect(refused).rejects.toBeInstanceOf(UnwantedError);
    const before = await driver.observe(order);
    await driver.apply(order, { isWanted: () => true });

    expect(before).toMatchObject({ isOrdered: false, running_image: image("v1") });
    expect(await untilSettled(driver, order)).toMatchObject({ status: "ready", isOrdered: true });
  });

  it("answers for a sentinel that is not there with target_gone", async () => {
    const driver = await startDriver[name]();
    await driver.start();

    const applied = await driver.apply({
      sentinelId: "nobody",
      image: image("v2"),
      deployId: "d1",
    });

    expect(applied.failure).toMatch(/^target_gone/);
  });
});
