/** Images that were ordered by digest, and that a registry of the cluster's region has only some time later. */
import { expect, it } from "vitest";
import { startApiServer } from "../../../../support/kubernetes/api-server.ts";
import {
  addSet,
  createTestDriver,
  deploy,
  kubeImage,
  startKubernetesFleet,
  untilAvailable,
} from "../../../../support/kubernetes/fleet.ts";

const digest = `sha256:${"b".repeat(64)}`;
const orderOf = (image: string, sentinelId = "edge/gw") => ({ sentinelId, image, deployId: "d1" });

it("a pod whose image is not found for 4 seconds and then runs is ready", async () => {
  const server = await startKubernetesFleet(["gw"]);

  const seen = await deploy(
    createTestDriver(server.url),
    orderOf(`${kubeImage("v2-late")}@${digest}`),
  );

  expect(seen.status).toBe("ready");
});

it("a member whose image is not found for 4 seconds and then runs is ready", async () => {
  const server = await startApiServer();
  addSet(server, "gw");
  await untilAvailable(server);
  const driver = createTestDriver(server.url, { kinds: ["statefulsets"] });

  const seen = await deploy(driver, orderOf(`${kubeImage("v2-late")}@${digest}`, "edge/gw/0"));

  expect(seen.status).toBe("ready");
});

it("an image that is not found fails the deploy once the wait for it is over", async () => {
  const server = await startKubernetesFleet(["gw"]);
  const driver = createTestDriver(server.url, { imageWaitMs: 1_500 });
  const order = orderOf(`${kubeImage("v2-absent")}@${digest}`);
  await driver.apply(order);

  const early = await driver.observe(order);
  const seen = await deploy(driver, order);

  expect(early.status).toBe("progressing");
  expect(seen.reason).toMatch(/^image_not_found: .*manifest unknown/);
});

it("an image without a digest is not waited for", async () => {
  const server = await startKubernetesFleet(["gw"]);

  const seen = await deploy(createTestDriver(server.url), orderOf(kubeImage("v2-late")));

  expect(seen.reason).toMatch(/^image_not_found: /);
});
