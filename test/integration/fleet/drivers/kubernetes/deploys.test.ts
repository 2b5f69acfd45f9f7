/** Deploys of Deployments at an API server, and what becomes of each kind of failure. */
import { describe, expect, it } from "vitest";
import type { DeployOrder, Driver, SentinelObservation } from "#fleet/drivers/driver.ts";
import { type ApiServer, startApiServer } from "../../../../support/kubernetes/api-server.ts";
import {
  addDeployment,
  createTestDriver,
  imageAt,
  kubeImage,
  namespace,
  startKubernetesFleet,
  untilAvailable,
} from "../../../../support/kubernetes/fleet.ts";
import { waitFor } from "../../../../support/wait-for.ts";

const orderOf = (tag: string, deployId = "d1"): DeployOrder => ({
  sentinelId: "edge/gw",
  image: kubeImage(tag),
  deployId,
});

function untilSettled(driver: Driver, order: DeployOrder): Promise<SentinelObservation> {
  const look = async () => {
    const seen = await driver.observe(order);
    return seen.status !== "progressing" && seen;
  };
  return waitFor(look, { withinMs: 20_000, what: "the deploy to settle" });
}

async function deploy(driver: Driver, order: DeployOrder): Promise<SentinelObservation> {
  const { failure } = await driver.apply(order);
  if (failure !== undefined) return { status: "failed", reason: failure };
  return untilSettled(driver, order);
}

/** Somebody else's change, as kubectl makes it. */
async function change(
  server: ApiServer,
  spec: object,
  query = "fieldManager=kubectl-set",
  annotations = {},
) {
  const url = `${server.url}/apis/apps/v1/namespaces/${namespace}/deployments/gw?${query}`;
  const answer = await fetch(url, {
    method: "PATCH",
    headers: {
      authorization: "Bearer admin-token",
      "content-type": "application/strategic-merge-patch+json",
    },
    body: JSON.stringify({ metadata: { annotations }, spec }),
  });
  expect(answer.status).toBe(200);
}

const templateOf = (image: string) => ({
  template: { spec: { containers: [{ name: "gateway", image }] } },
});

describe("a deploy that fails", () => {
  it.each([
    ["crash", /^crash_loop: exit code 1$/],
    ["oom", /^oom_killed: /],
    ["absent", /^image_not_found: .*manifest unknown/],
    ["invalid", /^invalid_image: /],
    ["unstartable", /^start_error: .*no such file/],
  ])("ends at once by what is final: %s", async (tag, reason) => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url);

    const seen = await deploy(driver, orderOf(`v2-${tag}`));

    expect(seen).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(reason),
      running_image: kubeImage("v1"),
    });
    expect(imageAt(server, "gw")).toBe(kubeImage("v1"));
    expect(server.faults).toEqual([]);
  });

  it.each([
    ["sick", /^probe_failing: /],
    ["secret", /^(image_auth|pull_backoff): /],
    ["unroutable", /^(registry_unavailable|pull_backoff): /],
    ["unconfigured", /^config_invalid: configmap/],
    ["homeless", /^unschedulable: 0\/3 nodes/],
  ])("ends at its deadline by what may pass: %s", async (tag, reason) => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url, { readyTimeoutMs: 1_000 });

    const seen = await deploy(driver, orderOf(`v2-${tag}`));

    expect(seen).toMatchObject({ status: "failed", reason: expect.stringMatching(reason) });
    expect(imageAt(server, "gw")).toBe(kubeImage("v1"));
    await untilAvailable(server);
  });

  it("says whether the Deployment still serves", async () => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url);

    const seen = await deploy(driver, orderOf("v2-crash"));

    expect(seen).toMatchObject({ status: "failed", healthy: true });
  });

  it("ends by the Deployment's own deadline when that is sooner", async () => {
    const server = await startApiServer();
    addDeployment(server, "gw", { spec: { progressDeadlineSeconds: 1 } });
    await untilAvailable(server);
    const driver = createTestDriver(server.url);

    const seen = await deploy(driver, orderOf("v2-sick"));

    expect(seen).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^probe_failing/),
    });
  });

  it("tells of a quota", async () => {
    const isOverQuota = (image: string) => image.endsWith(":v2");
    const server = await startKubernetesFleet(["gw"], { isOverQuota });
    const driver = createTestDriver(server.url, { readyTimeoutMs: 1_000 });

    const seen = await deploy(driver, orderOf("v2"));

    expect(seen).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^quota_exceeded: .*exceeded quota/),
      running_image: kubeImage("v1"),
    });
  });

  it("brings back what had proven itself, not an image of a deploy that was cut off", async () => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url);
    await driver.apply(orderOf("v2-sick", "cut-off"));

    const seen = await deploy(driver, orderOf("v3-crash", "d2"));

    expect(seen).toMatchObject({ status: "failed", running_image: kubeImage("v1") });
    expect(imageAt(server, "gw")).toBe(kubeImage("v1"));
  });

  it("is brought to its end by the list when nobody asks any more", async () => {
    const server = await startKubernetesFleet(["gw"]);
    await createTestDriver(server.url).apply(orderOf("v2-sick"));
    const other = createTestDriver(server.url, { readyTimeoutMs: 1_000 });

    const isBack = async () => {
      await other.list();
      return imageAt(server, "gw") === kubeImage("v1");
    };

    await waitFor(isBack, { withinMs: 10_000, what: "the old image to be back" });
    expect(await other.observe(orderOf("v2-sick"))).toMatchObject({
      reason: expect.stringMatching(/^probe_failing/),
    });
  });
});

describe("somebody else who changes the Deployment", () => {
  it("and applies the image again and again: it is left to them", async () => {
    const server = await startApiServer();
    addDeployment(server, "gw", { manager: "argocd", operation: "Apply" });
    await untilAvailable(server);

    const seen = await deploy(createTestDriver(server.url), orderOf("v2"));

    expect(seen.reason).toMatch(/^conflict: conflict with "argocd"/);
    expect(imageAt(server, "gw")).toBe(kubeImage("v1"));
  });

  it("and applies the image: it is taken from them by a setting", async () => {
    const server = await startApiServer();
    addDeployment(server, "gw", { manager: "argocd", operation: "Apply" });
    await untilAvailable(server);

    const seen = await deploy(createTestDriver(server.url, { isForced: true }), orderOf("v2"));

    expect(seen.status).toBe("ready");
  });

  it("sets another image in the middle: theirs stays, and who they are is told", async () => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url);
    await driver.apply(orderOf("v2-sick"));
    await change(server, templateOf(kubeImage("hotfix")));

    const seen = await untilSettled(driver, orderOf("v2-sick"));

    expect(seen.reason).toBe("conflict: the image was changed by kubectl-set");
    expect(imageAt(server, "gw")).toBe(kubeImage("hotfix"));
  });

  it("scales it in the middle: all that are wanted now have to be there", async () => {
    const server = await startKubernetesFleet(["gw"], { readyMs: 300 });
    const driver = createTestDriver(server.url);
    await driver.apply(orderOf("v2"));
    await change(server, { replicas: 3 });

    const seen = await untilSettled(driver, orderOf("v2"));

    const [found] = server.objects.list("deployments", namespace);
    expect(seen.status).toBe("ready");
    expect(found?.status).toMatchObject({ updatedReplicas: 3, availableReplicas: 3 });
  });

  it("changes it between our read and our order: it is read again", async () => {
    let isChanged = false;
    const server = await startKubernetesFleet(["gw"], {
      before: ({ verb }) => {
        if (verb === "patch" && !isChanged) {
          isChanged = true;
          const found = server.objects.get({ resource: "deployments", namespace, name: "gw" });
          if (found) server.objects.put("deployments", found);
        }
        return undefined;
      },
    });

    const seen = await deploy(createTestDriver(server.url), orderOf("v2"));

    expect(seen.status).toBe("ready");
    // The order twice, and its end.
    expect(server.requests.filter(({ verb }) => verb === "patch")).toHaveLength(3);
  });

  it("deletes it in the middle", async () => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url);
    await driver.apply(orderOf("v2-sick"));
    server.objects.remove({ resource: "deployments", namespace, name: "gw" });

    const seen = await untilSettled(driver, orderOf("v2-sick"));

    expect(seen.reason).toMatch(/^target_gone/);
  });
});

describe("a deploy that has ended", () => {
  const seconds = 1_000;

  it("is not judged again: what becomes of the Deployment later is no matter of it", async () => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url, { readyTimeoutMs: 1 * seconds });
    await deploy(driver, orderOf("v2"));
    const { metadata } = server.objects.list("deployments", namespace)[0] ?? {};
    await waitFor(() => Date.now() > Date.parse(metadata?.creationTimestamp ?? "") + 2 * seconds, {
      withinMs: 5 * seconds,
      what: "the deploy's deadline to be over",
    });
    await change(server, { replicas: 2, ...withEnv("A", "fails-crash") });

    const [listed] = await driver.list();
    await driver.list();

    expect(listed).toMatchObject({ image: kubeImage("v2"), running_image: kubeImage("v2") });
    expect(imageAt(server, "gw")).toBe(kubeImage("v2"));
    expect(await driver.observe(orderOf("v2"))).toMatchObject({ status: "ready" });
  });

  it("is what comes back when the next one fails, although replicas were added meanwhile", async () => {
    const server = await startKubernetesFleet(["gw"], { readyMs: 200 });
    const driver = createTestDriver(server.url);
    await deploy(driver, orderOf("v2"));
    await change(server, { replicas: 3 });

    const seen = await deploy(driver, orderOf("v3-crash", "d2"));

    expect(seen).toMatchObject({ status: "failed", running_image: kubeImage("v2") });
    expect(imageAt(server, "gw")).toBe(kubeImage("v2"));
  });

  it("leaves nothing to a copy of its Deployment", async () => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url, { readyTimeoutMs: 1 * seconds });
    await driver.apply(orderOf("v2-sick"));
    const [found] = server.objects.list("deployments", namespace);
    if (found === undefined) throw new Error("it is gone");
    server.objects.put("deployments", {
      ...found,
      metadata: { ...found.metadata, name: "copy", uid: "copy" },
    });

    await untilSettled(driver, orderOf("v2-sick"));
    await driver.list();

    expect(imageAt(server, "copy")).toBe(kubeImage("v2-sick"));
  });

  const withEnv = (name: string, value: string) => ({
    template: { spec: { containers: [{ name: "gateway", env: [{ name, value }] }] } },
  });
});

describe("a deploy whose record was removed", () => {
  it("is judged by its image alone, and nothing is put back", async () => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url);
    for (const [tag, id] of [
      ["v2", "d1"],
      ["v3-crash", "d2"],
    ] as const) {
      await driver.apply(orderOf(tag, id));
      await change(server, {}, "fieldManager=somebody", { "vedette.dev/deploy": null });
      const seen = await untilSettled(driver, orderOf(tag, id));

      expect(seen.status).toBe(tag === "v2" ? "ready" : "failed");
      expect(imageAt(server, "gw")).toBe(kubeImage(tag));
    }
  });
});

describe("a refusal", () => {
  const words = 'admission webhook "policy" denied the request: no such image here';
  const denied = { status: 403, body: { kind: "Status", reason: "Forbidden", message: words } };

  it("of an admission webhook is one of the image, and not of the fleet", async () => {
    const server = await startKubernetesFleet(["gw"], {
      before: ({ verb }) => (verb === "patch" ? denied : undefined),
    });

    expect(await createTestDriver(server.url).apply(orderOf("v2"))).toEqual({
      failure: `config_invalid: ${words}`,
    });
  });

  it("of what comes back is told with the reason of the failure, once", async () => {
    const server = await startKubernetesFleet(["gw"], {
      before: ({ verb, body }) =>
        verb === "patch" &&
        JSON.parse(body).spec.template.spec.containers[0].image === kubeImage("v1")
          ? denied
          : undefined,
    });
    const driver = createTestDriver(server.url);

    const seen = await deploy(driver, orderOf("v2-crash"));
    const patches = () => server.requests.filter(({ verb }) => verb === "patch").length;
    const before = patches();
    await driver.list();

    expect(seen.reason).toBe(`crash_loop: exit code 1; not put back: config_invalid: ${words}`);
    expect(await driver.observe(orderOf("v2-crash"))).toMatchObject({ reason: seen.reason });
    expect(patches()).toBe(before);
  });
});

it("a container that the setting names no more keeps its image", async () => {
  const server = await startApiServer();
  const containers = ["gateway", "edge"].map((name) => ({ name, image: kubeImage("v1") }));
  const template = { metadata: { labels: { app: "gw" } }, spec: { containers } };
  addDeployment(server, "gw", { spec: { template } });
  await untilAvailable(server);

  await deploy(createTestDriver(server.url, { container: "gateway" }), orderOf("v2"));
  const other = createTestDriver(server.url, { container: "edge", fieldManager: "renamed" });
  const seen = await deploy(other, orderOf("v3", "d2"));

  const [found] = server.objects.list("deployments", namespace);
  expect(seen.status).toBe("ready");
  expect(found?.spec.template.spec.containers).toEqual([
    { name: "gateway", image: kubeImage("v2") },
    { name: "edge", image: kubeImage("v3") },
  ]);
});

describe("a Deployment", () => {
  it("with several replicas is ready once all of them are, and not before", async () => {
    const server = await startApiServer();
    addDeployment(server, "gw", { replicas: 3 });
    await untilAvailable(server);
    const driver = createTestDriver(server.url);
    await driver.apply(orderOf("v2-slow"));

    const first = await driver.observe(orderOf("v2-slow"));
    const seen = await untilSettled(driver, orderOf("v2-slow"));

    expect(first).toMatchObject({ status: "progressing", running_image: kubeImage("v1") });
    expect(seen).toMatchObject({ status: "ready", running_image: kubeImage("v2-slow") });
  });

  it("that is scaled to zero is ready at once", async () => {
    const server = await startApiServer();
    addDeployment(server, "gw", { replicas: 0 });

    const seen = await deploy(createTestDriver(server.url), orderOf("v2-crash"));

    expect(seen.status).toBe("ready");
    expect(imageAt(server, "gw")).toBe(kubeImage("v2-crash"));
  });

  it("that is paused is refused, since nothing would come of an order", async () => {
    const server = await startApiServer();
    addDeployment(server, "gw", { spec: { paused: true } });

    const seen = await createTestDriver(server.url).apply(orderOf("v2"));

    expect(seen.failure).toBe("config_invalid: the Deployment is paused");
  });

  it("with two containers has to say which of them is the sentinel", async () => {
    const server = await startApiServer();
    addDeployment(server, "gw", {
      spec: {
        template: {
          metadata: { labels: { app: "gw" } },
          spec: {
            containers: [
              { name: "proxy", image: kubeImage("proxy") },
              { name: "gateway", image: kubeImage("v1") },
            ],
          },
        },
      },
    });
    await untilAvailable(server);

    const unsaid = await createTestDriver(server.url).apply(orderOf("v2"));
    const said = await deploy(
      createTestDriver(server.url, { container: "gateway" }),
      orderOf("v2", "d2"),
    );

    expect(unsaid.failure).toMatch(/^config_invalid: which container/);
    expect(said.status).toBe("ready");
    const [found] = server.objects.list("deployments", namespace);
    expect(found?.spec.template.spec.containers).toEqual([
      { name: "proxy", image: kubeImage("proxy") },
      { name: "gateway", image: kubeImage("v2") },
    ]);
  });

  it("of another namespace is none of the fleet", async () => {
    const server = await startKubernetesFleet(["gw"]);
    const driver = createTestDriver(server.url, { namespaces: ["other"] });

    expect(await driver.list()).toEqual([]);
    expect((await driver.apply(orderOf("v2"))).failure).toMatch(/^target_gone/);
  });
});

it("two processes that carry out one order change the Deployment once", async () => {
  const server = await startKubernetesFleet(["gw"]);
  const [one, other] = [createTestDriver(server.url), createTestDriver(server.url)];

  await Promise.all([one.apply(orderOf("v2")), other.apply(orderOf("v2"))]);
  const seen = await Promise.all([one, other].map((each) => untilSettled(each, orderOf("v2"))));

  expect(seen).toMatchObject([{ status: "ready" }, { status: "ready" }]);
  const [found] = server.objects.list("deployments", namespace);
  expect(found?.metadata.generation).toBe(2);
});
