/** What every driver has to do, run on each entry of the registry. */
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type FleetConfig, fleetConfig } from "#fleet/config.ts";
import { boundDriver } from "#fleet/drivers/bounded.ts";
import {
  type DeployOrder,
  type Driver,
  type DriverCall,
  type LogTail,
  type SentinelObservation,
  UnwantedError,
} from "#fleet/drivers/driver.ts";
import { drivers } from "#fleet/drivers/index.ts";
import { createLog } from "#kernel/log.ts";
import { canRunEngines } from "../../support/docker/engine.ts";
import { buildDockerHost, startDockerFleet } from "../../support/docker/fleet.ts";
import { startApiServer } from "../../support/kubernetes/api-server.ts";
import {
  addDeployment,
  addSet,
  createTestDriver,
  kubeImage,
  untilAvailable,
} from "../../support/kubernetes/fleet.ts";
import { startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

/** A driver over a fleet of two, which runs v1, and whose images ending in `-crash` fail. */
type TestFleet = { driver: Driver; image: (tag: string) => string };

const registryImage = (tag: string) => `registry.example.com/vedette/sentinel:${tag}`;

const configure = (fleet: object): FleetConfig =>
  fleetConfig.fleet.parse({ deploy_timeout_seconds: 20, ...fleet });

/** Whose two sentinels are the members of one set. */
const startMembers = (kind: "StatefulSet" | "DaemonSet") => async (): Promise<TestFleet> => {
  const server = await startApiServer();
  addSet(server, "gw", { kind, labels: { tier: "stable" } });
  await untilAvailable(server);
  const kinds = ["statefulsets", "daemonsets"] as const;
  const driver = boundDriver(createTestDriver(server.url, { kinds }), parts.log);
  return { driver, image: kubeImage };
};

const ofDriver = {
  process: async () => {
    const dir = makeTempDir();
    const driver = drivers.process({
      ...parts,
      fleet: configure({ process: { size: 2 } }),
      dataDir: dir.path,
    });
    onTestFinished(async () => {
      await driver.stop();
      dir.remove();
    });
    return { driver, image: registryImage };
  },
  http: async () => {
    const fleet = await startFakeFleet({
      size: 2,
      behave: (_, wanted) =>
        wanted.endsWith("-crash")
          ? { failAfterMs: 20, reason: "crash_loop: exit code 1" }
          : { readyAfterMs: 20 },
      readLog: (_, deployId) => {
        if (deployId === null) return "listening\n";
        return deployId === "d1" ? "no database: password=hunter2\n" : undefined;
      },
    });
    const http = { url: fleet.url, token: fleet.token };
    const driver = drivers.http({ ...parts, fleet: configure({ driver: "http", http }) });
    onTestFinished(async () => {
      await driver.stop();
      await fleet.stop();
    });
    return { driver, image: registryImage };
  },
  docker: async () => {
    const { engine, images } = await startDockerFleet(["v1", "v2", "v2-crash"]);
    for (const [name, tier] of [
      ["gw-1", "canary"],
      ["gw-2", "stable"],
    ] as const) {
      await engine.run(name, { image: images("v1"), labels: { tier } });
    }
    const docker = { hosts: [buildDockerHost({ url: engine.url })], stable_seconds: 1 };
    const driver = drivers.docker({ ...parts, fleet: configure({ driver: "docker", docker }) });
    onTestFinished(driver.stop);
    return { driver, image: images };
  },
  kubernetes: async () => {
    const server = await startApiServer();
    addDeployment(server, "gw-1", { labels: { tier: "canary" } });
    addDeployment(server, "gw-2", { labels: { tier: "stable" } });
    await untilAvailable(server);
    return { driver: boundDriver(createTestDriver(server.url), parts.log), image: kubeImage };
  },
} satisfies Record<FleetConfig["driver"], () => Promise<TestFleet>>;

const startFleet: Record<string, () => Promise<TestFleet>> = {
  ...ofDriver,
  "kubernetes, members of a StatefulSet": startMembers("StatefulSet"),
  "kubernetes, nodes of a DaemonSet": startMembers("DaemonSet"),
};

const parts = {
  dataDir: path.join("unused"),
  apiUrl: "http://127.0.0.1:9",
  rootKey: "root",
  findCredential: () => undefined,
  log: createLog({ level: "silent", format: "json" }),
};

function untilSettled(
  driver: Driver,
  order: DeployOrder,
  call: DriverCall = {},
): Promise<SentinelObservation> {
  return waitFor(
    async () => {
      const seen = await driver.observe(order, call);
      return seen.status !== "progressing" && seen;
    },
    { withinMs: 20_000, what: "the deploy to settle" },
  );
}

const runnable = Object.keys(startFleet).filter((name) => name !== "docker" || canRunEngines());

function start(name: string): Promise<TestFleet> {
  const begin = startFleet[name];
  if (begin === undefined) throw new Error(`no fleet ${name}`);
  return begin();
}

/** Until it can be listed and, on this machine, all of it serves. */
async function startDriver(driver: Driver): Promise<void> {
  await driver.start();
  await driver.populate?.();
}

describe.each(runnable)("the driver %s", (name) => {
  it("lists every sentinel with its region and image", async () => {
    const { driver, image } = await start(name);
    await startDriver(driver);

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
    const { driver, image } = await start(name);
    await startDriver(driver);
    const [first, second] = await driver.list();
    const sentinelId = first?.id ?? "";

    const order = { sentinelId, image: image("v2"), deployId: "d1" };
    await driver.apply(order);
    const seen = await untilSettled(driver, order);

    expect(seen).toMatchObject({ status: "ready", running_image: image("v2") });
    const after = await driver.list();
    expect(after.find(({ id }) => id === second?.id)?.image).toBe(image("v1"));
  });

  it.runIf(["process", "http"].includes(name))("runs an image by its digest alone", async () => {
    const { driver } = await start(name);
    await startDriver(driver);
    const [first] = await driver.list();
    const image = `registry.example.com/vedette/sentinel-crash@sha256:${"b".repeat(64)}`;

    const order = { sentinelId: first?.id ?? "", image, deployId: "d1" };
    await driver.apply(order);
    const seen = await untilSettled(driver, order);

    expect(seen).toMatchObject({ status: "ready", running_image: image });
  });

  it("fails with a reason code, and leaves the old image running", async () => {
    const { driver, image } = await start(name);
    await startDriver(driver);
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

  it("reads the end of the log of what has failed, and of what runs", async () => {
    const { driver, image } = await start(name);
    await startDriver(driver);
    const [first] = await driver.list();
    const sentinelId = first?.id ?? "";
    const order = { sentinelId, image: image("v2-crash"), deployId: "d1" };
    const call = { lines: 100, signal: AbortSignal.timeout(20_000) };
    const removed: LogTail[] = [];
    await driver.apply(order);
    await untilSettled(driver, order, {
      beforeRemoval: async ({ readLog }) => void removed.push(await readLog(call)),
    });

    const failed = removed[0] ?? (await driver.readLog?.(order, call));
    const running = await driver.readLog?.({ sentinelId }, call);
    const other = await driver.readLog?.({ sentinelId, deployId: "d0" }, call);

    expect(failed).toEqual({ text: expect.stringMatching(/crash|no database: password=\*\*\*/) });
    expect(running).toEqual({ text: expect.not.stringMatching(/crash|no database/) });
    expect(other).toEqual({ absent: expect.stringMatching(/./) });
  });

  it("changes nothing when an order is repeated", async () => {
    const { driver, image } = await start(name);
    await startDriver(driver);
    const [first] = await driver.list();
    const order = { sentinelId: first?.id ?? "", image: image("v2-crash"), deployId: "d1" };
    await driver.apply(order);
    await untilSettled(driver, order);

    await driver.apply(order);

    expect(await driver.observe(order)).toMatchObject({ status: "failed" });
  });

  it("tries the same image again under another deploy", async () => {
    const { driver, image } = await start(name);
    await startDriver(driver);
    const [first] = await driver.list();
    const order = { sentinelId: first?.id ?? "", image: image("v2"), deployId: "d1" };
    const again = { ...order, deployId: "d2" };
    await driver.apply(order);
    await untilSettled(driver, order);

    await driver.apply(again);

    expect(await untilSettled(driver, again)).toMatchObject({ status: "ready" });
  });

  it("tells whether an order was given, and gives none that is no longer wanted", async () => {
    const { driver, image } = await start(name);
    await startDriver(driver);
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
    const { driver, image } = await start(name);
    await startDriver(driver);

    const applied = await driver.apply({
      sentinelId: "nobody",
      image: image("v2"),
      deployId: "d1",
    });

    expect(applied.failure).toMatch(/^target_gone/);
  });
});
