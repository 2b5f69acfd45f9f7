/** Pods that have ended for good, and are only still there, of a generation that an order uses again. */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { type ApiServer, startApiServer } from "../../../../support/kubernetes/api-server.ts";
import {
  addDeployment,
  createTestDriver,
  deploy,
  kubeImage,
  namespace,
  startKubernetesFleet,
  untilAvailable,
} from "../../../../support/kubernetes/fleet.ts";

const orderOf = (tag: string, deployId: string) => ({
  sentinelId: "edge/gw",
  image: kubeImage(tag),
  deployId,
});

const monthsAgo = "2026-01-05T04:05:06Z";

const ofContainer = (exitCode: number, over: object = {}) => ({
  containerStatuses: [
    {
      name: "gateway",
      image: kubeImage("v1"),
      imageID: "",
      ready: false,
      restartCount: 3,
      state: { terminated: { exitCode, reason: "Error", finishedAt: monthsAgo } },
      ...over,
    },
  ],
});

/** A copy of the present pod that has ended like this. */
function addEnded({ objects }: ApiServer, status: object): void {
  const [pod] = objects.list("pods", namespace);
  if (pod === undefined) throw new Error("there is no pod");
  const metadata = {
    ...pod.metadata,
    name: `gw-${randomUUID().slice(0, 8)}`,
    uid: randomUUID(),
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  objects.put("pods", { ...pod, metadata, status });
}

it.each<[string, object]>([
  ["a node's shutdown", { phase: "Failed", reason: "Terminated", ...ofContainer(143) }],
  ["an older node's shutdown", { phase: "Failed", reason: "NodeShutdown" }],
  ["an eviction", { phase: "Failed", reason: "Evicted", message: "The node was low on disk" }],
  ["a preemption", { phase: "Failed", reason: "Preempting", ...ofContainer(137) }],
  ["a device that was gone", { phase: "Failed", reason: "UnexpectedAdmissionError" }],
  ["a lost node", { phase: "Failed", reason: "NodeLost", ...ofContainer(137) }],
  [
    "a kubelet that forgot it",
    {
      phase: "Failed",
      ...ofContainer(137, {
        state: { terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } },
      }),
    },
  ],
  ["its own wish", { phase: "Succeeded", ...ofContainer(0) }],
])("a pod that was ended by %s is no matter of a deploy of its image", async (_, status) => {
  const server = await startKubernetesFleet(["gw"], { readyMs: 800 });
  const driver = createTestDriver(server.url);
  addEnded(server, status);
  await deploy(driver, orderOf("v2", "d1"));

  const seen = await deploy(driver, orderOf("v1", "d2"));

  expect(seen).toMatchObject({ status: "ready", running_image: kubeImage("v1") });
  expect(server.faults).toEqual([]);
});

it("a pod that crashed long before the order is not what the order fails by", async () => {
  const server = await startApiServer({ readyMs: 1_500 });
  addDeployment(server, "gw", { replicas: 1 });
  await untilAvailable(server);
  const driver = createTestDriver(server.url);
  const last = { exitCode: 1, reason: "Error", startedAt: monthsAgo, finishedAt: monthsAgo };
  const [pod] = server.objects.list("pods", namespace);
  if (pod === undefined) throw new Error("there is no pod");
  const container = {
    ...pod.status.containerStatuses[0],
    ready: false,
    restartCount: 7,
    state: { waiting: { reason: "CrashLoopBackOff" } },
    lastState: { terminated: last },
  };
  const conditions = [{ type: "Ready", status: "False" }];
  const crashed = { ...pod.status, conditions, containerStatuses: [container] };
  server.objects.put("pods", { ...pod, status: crashed });
  await driver.apply(orderOf("v1", "d1"));

  const waiting = await driver.observe(orderOf("v1", "d1"));
  server.objects.put("pods", pod);
  const seen = await deploy(driver, orderOf("v1", "d1"));

  expect(waiting).toMatchObject({ status: "progressing", reason: "crash_loop: exit code 1" });
  expect(seen.status).toBe("ready");
});
