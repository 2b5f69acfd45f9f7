/** Clusters whose admission policies change images on their way to a workload, or to its pods. */
import { describe, expect, it } from "vitest";
import type { DeployOrder } from "#fleet/drivers/driver.ts";
import { startApiServer } from "../../../../support/kubernetes/api-server.ts";
import type { Admit } from "../../../../support/kubernetes/deployment-controller.ts";
import {
  addDeployment,
  addSet,
  createTestDriver,
  deploy,
  imageAt,
  imagesOfPods,
  kubeImage,
  namespace,
  untilAvailable,
} from "../../../../support/kubernetes/fleet.ts";

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const pinned = (tag: string, letter: string) => `${kubeImage(tag)}@${digest(letter)}`;

const orderOf = (image: string, deployId = "d1"): DeployOrder => ({
  sentinelId: "edge/gw",
  image,
  deployId,
});

const inMirror = (image: string) =>
  image.startsWith("mirror.example.com/") ? image : `mirror.example.com/${image}`;

/** As a pull-through mirror's webhook does; `of`: of workloads, or of their pods. */
const mirror =
  (of: "workload" | "pod"): Admit =>
  (image, what) =>
    what === of ? inMirror(image) : image;

/** Whatever is asked for, this digest runs, as a policy that lets nothing new in would have it. */
const exchange =
  (of: "workload" | "pod", letter: string): Admit =>
  (image, what) =>
    what === of ? image.replace(/@sha256:b+$/, `@${digest(letter)}`) : image;

async function startFleet(admit: Admit, image = pinned("v1", "a")) {
  const server = await startApiServer({ admit });
  addDeployment(server, "gw", { image });
  await untilAvailable(server);
  return { server, driver: createTestDriver(server.url) };
}

/** As a controller does which is faster than the next request. */
function writeStatusOnceRestored({ objects }: Awaited<ReturnType<typeof startApiServer>>): void {
  const end = objects.watch(Number(objects.version()), ({ resource, object }) => {
    const isRestored = JSON.stringify(object.metadata.annotations ?? {}).includes("in place of");
    if (resource !== "deployments" || !isRestored) return;
    end();
    objects.put(resource, object);
  });
}

describe("a policy that puts a mirror before images", () => {
  it.each([
    ["with a digest", pinned("v2", "b")],
    ["with a digest alone", `registry.example.com/team/gateway@${digest("b")}`],
    ["with a tag alone", kubeImage("v2")],
  ])("makes no other image of the one that was ordered %s", async (_, image) => {
    const { server, driver } = await startFleet(mirror("workload"));

    const seen = await deploy(driver, orderOf(image));

    expect(seen).toMatchObject({ status: "ready", running_image: image });
    expect(imageAt(server, "gw")).toBe(inMirror(image));
    expect(await driver.list()).toMatchObject([{ image, running_image: image }]);
  });

  it("of pods makes no other image of the workload's", async () => {
    const { server, driver } = await startFleet(mirror("pod"));

    const seen = await deploy(driver, orderOf(pinned("v2", "b")));

    expect(seen.status).toBe("ready");
    const [pod] = server.objects.list("pods", namespace);
    expect(pod?.spec.containers[0].image).toBe(inMirror(pinned("v2", "b")));
  });

  it("lets the former image come back by the name that it was ordered by", async () => {
    const { server, driver } = await startFleet(mirror("workload"));
    await deploy(driver, orderOf(kubeImage("v2")));

    const failed = await deploy(driver, orderOf(kubeImage("v3-crash"), "d2"));

    expect(failed).toMatchObject({ status: "failed", running_image: kubeImage("v2") });
    expect(failed.reason).toBe("crash_loop: exit code 1");
    expect(imageAt(server, "gw")).toBe(inMirror(kubeImage("v2")));
    const back = await deploy(driver, orderOf(kubeImage("v1"), "d3"));
    expect(back).toMatchObject({ status: "ready", running_image: kubeImage("v1") });
  });

  it("is known again by a process that was started after the order", async () => {
    const { server, driver } = await startFleet(mirror("workload"));
    await driver.apply(orderOf(kubeImage("v2")));
    const other = createTestDriver(server.url);

    const seen = await deploy(other, orderOf(kubeImage("v2")));

    expect(seen.status).toBe("ready");
    const [found] = server.objects.list("deployments", namespace);
    expect(found?.metadata.generation).toBe(2);
  });

  it("makes no other image of one that somebody else had set before there was the policy", async () => {
    const { server, driver } = await startFleet(mirror("workload"), kubeImage("v1"));

    const seen = await deploy(driver, orderOf(kubeImage("v1")));

    expect(seen).toMatchObject({ status: "ready", running_image: kubeImage("v1") });
    expect(imageAt(server, "gw")).toBe(inMirror(kubeImage("v1")));
  });

  it("does not hide somebody else who changes the image", async () => {
    const { server, driver } = await startFleet(mirror("workload"));
    await driver.apply(orderOf(kubeImage("v2-sick")));
    const containers = [{ name: "gateway", image: kubeImage("hotfix") }];
    await fetch(
      `${server.url}/apis/apps/v1/namespaces/${namespace}/deployments/gw?fieldManager=kubectl-set`,
      {
        method: "PATCH",
        headers: {
          authorization: "Bearer admin-token",
          "content-type": "application/strategic-merge-patch+json",
        },
        body: JSON.stringify({ spec: { template: { spec: { containers } } } }),
      },
    );

    const seen = await deploy(driver, orderOf(kubeImage("v2-sick")));

    expect(seen.reason).toBe("conflict: the image was changed by kubectl-set");
  });

  it.each(["StatefulSet", "DaemonSet"] as const)(
    "makes no other image of a member's: %s",
    async (kind) => {
      const server = await startApiServer({ admit: mirror("workload") });
      addSet(server, "gw", { kind });
      await untilAvailable(server);
      const kinds = ["statefulsets", "daemonsets"] as const;
      const driver = createTestDriver(server.url, { kinds });
      const [first, second] = kind === "StatefulSet" ? ["0", "1"] : ["node-a", "node-b"];
      const of = (member: string | undefined, tag: string) => ({
        sentinelId: `edge/gw/${member}`,
        image: kubeImage(tag),
        deployId: `${member}-${tag}`,
      });

      const seen = await deploy(driver, of(first, "v2"));
      const failed = await deploy(driver, of(second, "v3-crash"));
      const back = await deploy(driver, of(first, "v1"));

      expect([seen.status, back.status]).toEqual(["ready", "ready"]);
      expect(failed.reason).toBe("crash_loop: exit code 1");
      expect(imagesOfPods(server, "gw")).toEqual({
        [first ?? ""]: inMirror(kubeImage("v1")),
        [second ?? ""]: inMirror(kubeImage("v1")),
      });
      expect(await driver.list()).toMatchObject([
        { running_image: kubeImage("v1") },
        { running_image: kubeImage("v1") },
      ]);
    },
  );

  it("keeps the name of a member's image when the next member's fails and the template goes back", async () => {
    const server = await startApiServer({ admit: mirror("workload") });
    addSet(server, "gw");
    await untilAvailable(server);
    const driver = createTestDriver(server.url, { kinds: ["statefulsets"] });
    const of = (member: number, tag: string) => ({
      ...orderOf(kubeImage(tag), `${member}-${tag}`),
      sentinelId: `edge/gw/${member}`,
    });
    await deploy(driver, of(0, "v2"));

    const failed = await deploy(driver, of(1, "v3-crash"));

    expect(failed.status).toBe("failed");
    const v2 = { image: kubeImage("v2"), running_image: kubeImage("v2") };
    expect(await driver.list()).toMatchObject([v2, { running_image: kubeImage("v1") }]);
  });
});

describe("a policy that sets another digest", () => {
  it.each(["workload", "pod"] as const)(
    "of a %s fails the deploy by its name, and the former image is back",
    async (of) => {
      const { server, driver } = await startFleet(exchange(of, "c"));

      const seen = await deploy(driver, orderOf(pinned("v2", "b")));

      expect(seen).toMatchObject({ status: "failed", running_image: pinned("v1", "a") });
      expect(seen.reason).toBe(
        `config_invalid: a policy of the cluster (an admission policy or webhook) sets ${pinned("v2", "c")} in place of ${pinned("v2", "b")}`,
      );
      expect(imageAt(server, "gw")).toBe(pinned("v1", "a"));
    },
  );

  it("of what comes back, too, is told with the reason of the failure", async () => {
    const all: Admit = (image, of) =>
      of === "workload" ? image.replace(/@sha256:.*$/, `@${digest("c")}`) : image;
    const { server, driver } = await startFleet(all);

    const seen = await deploy(driver, orderOf(pinned("v2", "b")));

    expect(seen.status).toBe("failed");
    expect(seen.reason).toMatch(/in place of .*:v2@sha256:b+; not put back: config_invalid: .*:v1/);
    expect(imageAt(server, "gw")).toContain(digest("c"));
  });

  it("of what comes back is told, too, when the status changes before that is stored", async () => {
    const all: Admit = (image, of) =>
      of === "workload" ? image.replace(/@sha256:.*$/, `@${digest("c")}`) : image;
    const { server, driver } = await startFleet(all);
    writeStatusOnceRestored(server);

    const seen = await deploy(driver, orderOf(pinned("v2", "b")));

    expect(seen.reason).toMatch(/; not put back: config_invalid: .*:v1/);
  });

  it.each(["workload", "pod"] as const)("of a set's %s fails its member", async (of) => {
    const server = await startApiServer({ admit: exchange(of, "c") });
    addSet(server, "gw", { image: pinned("v1", "a") });
    await untilAvailable(server);
    const driver = createTestDriver(server.url, { kinds: ["statefulsets"] });
    const order = { ...orderOf(pinned("v2", "b")), sentinelId: "edge/gw/0" };

    const seen = await deploy(driver, order);

    expect(seen).toMatchObject({ status: "failed", running_image: pinned("v1", "a") });
    expect(seen.reason).toMatch(/^config_invalid: a policy of the cluster .*sha256:c+ in place of/);
    const set = server.objects.get({ resource: "statefulsets", namespace, name: "gw" });
    expect(set?.spec.template.spec.containers[0].image).toBe(pinned("v1", "a"));
  });
});
