/** StatefulSets and DaemonSets that replace their pods by themselves, each of which is one sentinel; and who is which. */
import { describe, expect, it } from "vitest";
import type { DeployOrder, Driver } from "#fleet/drivers/driver.ts";
import { adminToken, startApiServer } from "../../../../support/kubernetes/api-server.ts";
import {
  addDeployment,
  addSet,
  createTestDriver,
  imagesOfPods,
  kubeImage,
  namespace,
  untilAvailable,
} from "../../../../support/kubernetes/fleet.ts";
import { waitFor } from "../../../../support/wait-for.ts";

const kinds = ["deployments", "statefulsets", "daemonsets"] as const;

const orderOf = (tag: string, deployId = tag): DeployOrder => ({
  sentinelId: "edge/gw",
  image: kubeImage(tag),
  deployId,
});

async function deploy(driver: Driver, order: DeployOrder) {
  const { failure } = await driver.apply(order);
  if (failure !== undefined) return { status: "failed", reason: failure };
  const look = async () => {
    const seen = await driver.observe(order);
    return seen.status !== "progressing" && seen;
  };
  return waitFor(look, { withinMs: 20_000, what: "the deploy to settle" });
}

async function startSet(kind: "StatefulSet" | "DaemonSet", spec: object = {}) {
  const server = await startApiServer({ readyMs: 200 });
  addSet(server, "gw", { kind, strategy: "RollingUpdate", spec });
  await untilAvailable(server);
  return { server, driver: createTestDriver(server.url, { kinds }) };
}

/** Of each kind, at the same time, with the names of its members. */
const ofBoth =
  (check: (kind: "StatefulSet" | "DaemonSet", members: [string, string]) => Promise<void>) =>
  async () => {
    await Promise.all([check("StatefulSet", ["0", "1"]), check("DaemonSet", ["node-a", "node-b"])]);
  };

describe("a set that replaces its pods by itself", () => {
  it(
    "is one sentinel, and ready once all of its pods are replaced",
    ofBoth(async (kind, [first, second]) => {
      const { server, driver } = await startSet(kind);
      const list = await driver.list();
      await driver.apply(orderOf("v2"));

      const [listed] = await driver.list();
      const seen = await deploy(driver, orderOf("v2"));

      expect(list).toMatchObject([{ id: "edge/gw", image: kubeImage("v1"), healthy: true }]);
      expect(listed).toMatchObject({ image: kubeImage("v2"), running_image: kubeImage("v1") });
      expect(seen).toMatchObject({ status: "ready", running_image: kubeImage("v2") });
      const images = { [first]: kubeImage("v2"), [second]: kubeImage("v2") };
      expect(imagesOfPods(server, "gw")).toEqual(images);
      expect(server.faults).toEqual([]);
    }),
  );

  it(
    "runs its earlier image again after a failure, although the controller may wait for a broken pod",
    ofBoth(async (kind, [first, second]) => {
      const { server, driver } = await startSet(kind);

      const seen = await deploy(driver, orderOf("v2-crash"));

      expect(seen).toMatchObject({
        status: "failed",
        reason: "crash_loop: exit code 1",
        running_image: kubeImage("v1"),
      });
      const images = { [first]: kubeImage("v1"), [second]: kubeImage("v1") };
      expect(imagesOfPods(server, "gw")).toEqual(images);
      expect(await driver.list()).toMatchObject([{ healthy: true }]);
    }),
  );
});

it("a StatefulSet is brought back by the list when nobody asks any more", async () => {
  const { server, driver } = await startSet("StatefulSet");
  await driver.apply(orderOf("v2-sick"));
  const isBroken = () => imagesOfPods(server, "gw")["1"] === kubeImage("v2-sick");
  await waitFor(isBroken, { withinMs: 5_000, what: "the sick pod" });
  const other = createTestDriver(server.url, { kinds, readyTimeoutMs: 1_000 });

  const isBack = async () => {
    await other.list();
    const { 0: first, 1: second } = imagesOfPods(server, "gw");
    return first === kubeImage("v1") && second === kubeImage("v1");
  };

  await waitFor(isBack, { withinMs: 10_000, what: "the old image to be back" });
});

it("a StatefulSet with a partition is refused, since it would replace only some of its pods", async () => {
  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 1 } };
  const { driver } = await startSet("StatefulSet", { updateStrategy });

  const { failure } = await driver.apply(orderOf("v2"));

  expect(failure).toMatch(/^config_invalid: the StatefulSet's updateStrategy has a partition/);
});

describe("a fleet of several kinds", () => {
  it("has workloads of each, and finds each of them without a list before", async () => {
    const server = await startApiServer();
    addDeployment(server, "web");
    addSet(server, "state");
    addSet(server, "edge", { kind: "DaemonSet", strategy: "RollingUpdate" });
    await untilAvailable(server);
    const open = () => createTestDriver(server.url, { kinds });

    const list = await open().list();
    const ids = ["edge/web", "edge/state/1", "edge/edge"];
    const driver = open();
    const seen = await Promise.all(
      ids.map((sentinelId) => deploy(driver, { ...orderOf("v2"), sentinelId })),
    );

    expect(list.map(({ id }) => id)).toEqual([
      "edge/web",
      "edge/state/0",
      "edge/state/1",
      "edge/edge",
    ]);
    expect(seen.map(({ status }) => status)).toEqual(["ready", "ready", "ready"]);
  });

  it("leaves out the second workload of one name, and a workload that is not selected", async () => {
    const server = await startApiServer();
    addDeployment(server, "gw", { labels: { "vedette.sentinel": undefined as never } });
    addSet(server, "gw", { strategy: "RollingUpdate" });
    addSet(server, "gw", { kind: "DaemonSet" });
    await untilAvailable(server);
    const driver = createTestDriver(server.url, { kinds });

    const seen = await deploy(driver, orderOf("v2"));
    const list = await driver.list();

    expect(seen.status).toBe("ready");
    expect(list.map(({ id }) => id)).toEqual(["edge/gw"]);
    const images = server.objects
      .list("pods", namespace)
      .map(({ metadata, spec }) => [metadata.ownerReferences?.[0]?.kind, spec.containers[0].image]);
    expect(new Set(images.map(String))).toEqual(
      new Set([
        `ReplicaSet,${kubeImage("v1")}`,
        `StatefulSet,${kubeImage("v2")}`,
        `DaemonSet,${kubeImage("v1")}`,
      ]),
    );
  });

  it("is not listed while one of its kinds is refused: its members are all still there", async () => {
    const server = await startApiServer({
      tokens: { [adminToken]: ({ resource }) => resource !== "daemonsets" },
    });
    addDeployment(server, "web");

    const list = createTestDriver(server.url, { kinds }).list();

    await expect(list).rejects.toThrow(/^unauthorized: .*cannot list resource "daemonsets"/);
  });
});
