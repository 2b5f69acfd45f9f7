/** Deploys of members of StatefulSets and DaemonSets, which have one template for all of them. */
import { describe, expect, it } from "vitest";
import { type DeployOrder, type Driver, UnreachableError } from "#fleet/drivers/driver.ts";
import type { KubernetesSettings } from "#fleet/drivers/kubernetes/driver.ts";
import {
  type ApiServer,
  type ApiServerSettings,
  startApiServer,
} from "../../../../support/kubernetes/api-server.ts";
import {
  addSet,
  createTestDriver,
  imagesOfPods,
  kubeImage,
  namespace,
  type TestSet,
  untilAvailable,
} from "../../../../support/kubernetes/fleet.ts";
import { waitFor } from "../../../../support/wait-for.ts";

const kinds = ["statefulsets", "daemonsets"] as const;

const orderOf = (member: string, tag: string, deployId = `${member}-${tag}`): DeployOrder => ({
  sentinelId: `${namespace}/gw/${member}`,
  image: kubeImage(tag),
  deployId,
});

const imagesOf = (tags: Record<string, string>) =>
  Object.fromEntries(Object.entries(tags).map(([member, tag]) => [member, kubeImage(tag)]));

/** A set gw that runs v1, and who may deploy its members. */
async function startSet(over: TestSet = {}, settings: ApiServerSettings = {}) {
  const server = await startApiServer(settings);
  addSet(server, "gw", over);
  await untilAvailable(server);
  const open = (more: Partial<KubernetesSettings> = {}) =>
    createTestDriver(server.url, { kinds, ...more });
  return { server, open, driver: open() };
}

function untilSettled(driver: Driver, order: DeployOrder) {
  const look = async () => {
    const seen = await driver.observe(order);
    return seen.status !== "progressing" && seen;
  };
  return waitFor(look, { withinMs: 20_000, what: `${order.sentinelId} to settle` });
}

/** As the deployer does: an order that cannot be given now is given again. */
async function deploy(driver: Driver, order: DeployOrder) {
  const give = () =>
    driver.apply(order).catch((error: Error) => {
      if (error instanceof UnreachableError) return false as const;
      throw error;
    });
  const given = await waitFor(give, {
    withinMs: 20_000,
    what: `${order.sentinelId} to be ordered`,
  });
  if (given.failure !== undefined) return { status: "failed", reason: given.failure };
  return untilSettled(driver, order);
}

const setOf = ({ objects }: ApiServer, resource = "statefulsets") => {
  const found = objects.get({ resource, namespace, name: "gw" });
  if (found === undefined) throw new Error("the set is gone");
  return found;
};

const templateOf = (server: ApiServer, resource?: string): string =>
  setOf(server, resource).spec.template.spec.containers[0].image;

/** Forbids to end a pod that is ready while there are no more than these. */
function addBudget({ objects }: ApiServer, minAvailable: number): void {
  const metadata = { name: "keep", namespace, uid: "budget", resourceVersion: "" };
  const spec = { minAvailable, selector: { matchLabels: { app: "gw" } } };
  const budget = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec };
  objects.put("poddisruptionbudgets", budget as never);
}

function removeBudget({ objects }: ApiServer): void {
  objects.remove({ resource: "poddisruptionbudgets", namespace, name: "keep" });
}

/** Somebody else's change of the template, as kubectl makes it. */
async function setImage(server: ApiServer, tag: string, resource = "statefulsets") {
  const path = `${server.url}/apis/apps/v1/namespaces/${namespace}/${resource}/gw`;
  const containers = [{ name: "gateway", image: kubeImage(tag) }];
  const answer = await fetch(`${path}?fieldManager=kubectl-set`, {
    method: "PATCH",
    headers: {
      authorization: "Bearer admin-token",
      "content-type": "application/strategic-merge-patch+json",
    },
    body: JSON.stringify({ spec: { template: { spec: { containers } } } }),
  });
  expect(answer.status).toBe(200);
}

type Kind = { kind: "StatefulSet" | "DaemonSet"; resource: string; first: string; second: string };

const both: readonly Kind[] = [
  { kind: "StatefulSet", resource: "statefulsets", first: "0", second: "1" },
  { kind: "DaemonSet", resource: "daemonsets", first: "node-a", second: "node-b" },
];

/** A test of members of both kinds, at the same time. */
const ofBoth = (check: (of: Kind) => Promise<void>) => async () => {
  await Promise.all(both.map(check));
};

describe("a member of either kind", () => {
  it.each([
    ["crash", /^crash_loop: exit code 1$/],
    ["sick", /^probe_failing: /],
  ])("that fails (%s) runs again what it ran before, and so says the template", (tag, reason) =>
    ofBoth(async ({ kind, first, second, resource }) => {
      const { server, open } = await startSet({ kind });
      const driver = open({ readyTimeoutMs: tag === "sick" ? 1_000 : 60_000 });

      const seen = await deploy(driver, orderOf(first, `v2-${tag}`));

      expect(seen).toMatchObject({
        status: "failed",
        reason: expect.stringMatching(reason),
        running_image: kubeImage("v1"),
      });
      expect(imagesOfPods(server, "gw")).toEqual(imagesOf({ [first]: "v1", [second]: "v1" }));
      expect(templateOf(server, resource)).toBe(kubeImage("v1"));
      expect(server.faults).toEqual([]);
    })(),
  );

  it(
    "is brought to what it ran before when the others run something else",
    ofBoth(async ({ kind, first, second }) => {
      const { server, driver } = await startSet({ kind });
      await deploy(driver, orderOf(second, "v2"));

      const orders = [orderOf(first, "v3"), orderOf(second, "v3")];
      await Promise.all(orders.map((order) => deploy(driver, order)));
      const back = [orderOf(first, "v1", "back-1"), orderOf(second, "v2", "back-2")];
      const seen = await Promise.all(back.map((order) => deploy(driver, order)));

      expect(seen).toMatchObject([{ status: "ready" }, { status: "ready" }]);
      expect(imagesOfPods(server, "gw")).toEqual(imagesOf({ [first]: "v1", [second]: "v2" }));
      const list = await driver.list();
      expect(list.map(({ image }) => image)).toEqual([kubeImage("v1"), kubeImage("v2")]);
    }),
  );

  it(
    "fails with another at once, and each gets back its own image",
    ofBoth(async ({ kind, first, second }) => {
      const { server, driver } = await startSet({ kind });
      await deploy(driver, orderOf(second, "v2"));

      const orders = [orderOf(first, "v3-crash"), orderOf(second, "v3-crash")];
      const seen = await Promise.all(orders.map((order) => deploy(driver, order)));

      expect(seen).toMatchObject([{ status: "failed" }, { status: "failed" }]);
      expect(imagesOfPods(server, "gw")).toEqual(imagesOf({ [first]: "v1", [second]: "v2" }));
    }),
  );

  it(
    "is left alone by somebody else's template, and shows what it runs",
    ofBoth(async ({ kind, first, resource }) => {
      const { server, driver } = await startSet({ kind });
      await setImage(server, "v9", resource);
      const [before] = await driver.list();

      const [pod] = server.objects.list("pods", namespace, ({ metadata: { name }, spec }) =>
        [name, spec.nodeName].some((one) => one === first || one === `gw-${first}`),
      );
      server.objects.remove({ resource: "pods", namespace, name: pod?.metadata.name ?? "" });
      await untilAvailable(server);
      const isNew = () => imagesOfPods(server, "gw")[first] === kubeImage("v9");
      await waitFor(isNew, { withinMs: 5_000, what: "the next pod" });

      expect(before).toMatchObject({ image: kubeImage("v1"), running_image: kubeImage("v1") });
      expect((await driver.list()).map(({ image }) => image)).toEqual(["v9", "v1"].map(kubeImage));
    }),
  );

  it(
    "is replaced once by two processes that carry out one order",
    ofBoth(async ({ kind, first, resource }) => {
      const { server, driver, open } = await startSet({ kind });
      const order = orderOf(first, "v2");
      const processes = [driver, open()];
      let pods = 0;
      server.objects.watch(Number(server.objects.version()), ({ type, resource: of }) => {
        if (of === "pods" && type === "ADDED") pods++;
      });

      const seen = await Promise.all(processes.map((each) => deploy(each, order)));

      expect(seen).toMatchObject([{ status: "ready" }, { status: "ready" }]);
      expect(pods).toBe(1);
      expect(setOf(server, resource).metadata.generation).toBe(2);
    }),
  );
});

it("two processes that order two members at once keep both orders", async () => {
  const { server, driver, open } = await startSet();

  const orders = [orderOf("0", "v2"), orderOf("1", "v2")];
  const applied = await Promise.all(
    [driver, open()].map((each, n) => each.apply(orders[n] as DeployOrder)),
  );

  expect(applied).toEqual([{}, {}]);
  const seen = await Promise.all(orders.map((order) => driver.observe(order)));
  expect(seen).toMatchObject([{ isOrdered: true }, { isOrdered: true }]);
  expect(server.faults).toEqual([]);
});

describe("the template that members share", () => {
  it("is not taken from a member whose pod is not made yet", async () => {
    const { server, driver } = await startSet({ spec: { podManagementPolicy: "Parallel" } });
    addBudget(server, 2);
    await driver.apply(orderOf("0", "v2"));

    await expect(driver.apply(orderOf("1", "v3"))).rejects.toThrow(
      "conflict: 0 is being replaced by another image, and the template is one for all",
    );
    removeBudget(server);
    const seen = await Promise.all([
      untilSettled(driver, orderOf("0", "v2")),
      deploy(driver, orderOf("1", "v3")),
    ]);

    expect(seen).toMatchObject([{ status: "ready" }, { status: "ready" }]);
    expect(imagesOfPods(server, "gw")).toEqual(imagesOf({ 0: "v2", 1: "v3" }));
  });

  it("comes back for one that failed, although a budget keeps another from its turn because of it", async () => {
    const { server, driver } = await startSet({
      replicas: 3,
      spec: { podManagementPolicy: "Parallel" },
    });
    addBudget(server, 2);
    const both = [orderOf("0", "v2-crash"), orderOf("1", "v2-crash")];

    const seen = await Promise.all(both.map((order) => deploy(driver, order)));

    expect(seen).toMatchObject([{ status: "failed" }, { status: "failed" }]);
    expect(imagesOfPods(server, "gw")).toEqual(imagesOf({ 0: "v1", 1: "v1", 2: "v1" }));
    await untilAvailable(server);
  });

  it("stays as somebody else sets it before the pod is replaced", async () => {
    const { server, driver } = await startSet();
    addBudget(server, 2);
    await driver.apply(orderOf("0", "v2"));
    await setImage(server, "hotfix");

    const seen = await untilSettled(driver, orderOf("0", "v2"));

    expect(seen).toMatchObject({
      status: "failed",
      reason: "conflict: the image was changed by kubectl-set",
      running_image: kubeImage("v1"),
    });
    expect(templateOf(server)).toBe(kubeImage("hotfix"));
  });

  it("stays as somebody else sets it while the new pod fails, and that is told", async () => {
    const { server, driver } = await startSet();
    await driver.apply(orderOf("0", "v2-sick"));
    const isMade = async () => {
      await driver.observe(orderOf("0", "v2-sick"));
      return imagesOfPods(server, "gw")["0"] === kubeImage("v2-sick");
    };
    await waitFor(isMade, { withinMs: 5_000, what: "the new pod" });
    await setImage(server, "hotfix");

    const late = createTestDriver(server.url, { kinds, readyTimeoutMs: 500 });
    const seen = await untilSettled(late, orderOf("0", "v2-sick"));

    expect(seen.reason).toMatch(
      /^probe_failing: .*; not put back: the image was changed by kubectl-set$/,
    );
    expect(templateOf(server)).toBe(kubeImage("hotfix"));
  });

  it("is left to those who apply it again and again", async () => {
    const { driver } = await startSet({ manager: "argocd", operation: "Apply" });

    const { failure } = await driver.apply(orderOf("0", "v2"));

    expect(failure).toMatch(/^conflict: conflict with "argocd"/);
  });
});

describe("the pod of a member", () => {
  it("is not ended while a budget forbids it, which is told", async () => {
    const { server, driver } = await startSet();
    addBudget(server, 2);
    await driver.apply(orderOf("1", "v2"));

    const words =
      /^conflict: its pod may not be ended now: The disruption budget keep needs 2 healthy pods/;
    const isTold = async () => words.test((await driver.observe(orderOf("1", "v2"))).reason ?? "");
    await waitFor(isTold, { withinMs: 5_000, what: "the reason" });
    const others = await driver.list();
    removeBudget(server);
    const seen = await untilSettled(driver, orderOf("1", "v2"));

    expect(others).toHaveLength(2);
    expect(seen.status).toBe("ready");
  });

  it("stays when a budget forbids its end for too long", async () => {
    const { server, open } = await startSet();
    addBudget(server, 2);
    const driver = open({ readyTimeoutMs: 1_000 });

    const seen = await deploy(driver, orderOf("1", "v2"));

    expect(seen).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^conflict: its pod may not be ended now/),
      running_image: kubeImage("v1"),
    });
    expect(templateOf(server)).toBe(kubeImage("v1"));
  });

  it("is not the next one, which has the same name, when a process is late with its end", async () => {
    const place = { resource: "pods", namespace, name: "gw-1" };
    const endings: boolean[] = [];
    const { server, driver } = await startSet(
      {},
      {
        before: ({ resource }) => {
          const pod = server.objects.get(place);
          if (resource === "pods/eviction" && endings.length === 0 && pod !== undefined) {
            server.objects.put("pods", { ...pod, metadata: { ...pod.metadata, uid: "next" } });
          }
          return undefined;
        },
        after: ({ resource }) => {
          const { deletionTimestamp } = server.objects.get(place)?.metadata ?? {};
          if (resource === "pods/eviction") endings.push(deletionTimestamp !== undefined);
          return undefined;
        },
      },
    );

    const seen = await deploy(driver, orderOf("1", "v2"));

    expect(seen.status).toBe("ready");
    expect(endings).toEqual([false, true]);
  });

  it("is evicted at an old server too, which knows evictions by another version", async () => {
    const { driver } = await startSet(
      {},
      {
        before: ({ resource, body }) =>
          resource === "pods/eviction" && !body.includes("v1beta1")
            ? { status: 400, body: { message: 'no kind "Eviction" is registered' } }
            : undefined,
      },
    );

    expect(await deploy(driver, orderOf("1", "v2"))).toMatchObject({ status: "ready" });
  });

  it("is not ended while a lower one is not ready: an OrderedReady set would make no next one", async () => {
    const { server, driver } = await startSet();
    await driver.apply(orderOf("0", "v2-sick"));
    const isMade = async () => {
      await driver.observe(orderOf("0", "v2-sick"));
      return imagesOfPods(server, "gw")["0"] === kubeImage("v2-sick");
    };
    await waitFor(isMade, { withinMs: 5_000, what: "the sick pod" });
    await driver.apply(orderOf("1", "v2-sick"));

    const reasons = /^conflict: no pod would be made for it, since 0 is not ready$/;
    const isTold = async () =>
      reasons.test((await driver.observe(orderOf("1", "v2-sick"))).reason ?? "");
    await waitFor(isTold, { withinMs: 5_000, what: "the reason" });

    expect(imagesOfPods(server, "gw")["1"]).toBe(kubeImage("v1"));
  });
});

describe("a member that is gone", () => {
  it.each([
    ["its set is smaller", { replicas: 1 }],
    ["its set replaces its pods by itself", { updateStrategy: { type: "RollingUpdate" } }],
  ])("is told when %s", async (_, spec) => {
    const { server, driver } = await startSet();
    await driver.apply(orderOf("1", "v2-sick"));
    const set = setOf(server);
    server.objects.put("statefulsets", { ...set, spec: { ...set.spec, ...spec } });

    const seen = await untilSettled(driver, orderOf("1", "v2-sick"));

    expect(seen.reason).toMatch(/^target_gone: /);
    expect((await driver.apply(orderOf("1", "v2", "d2"))).failure).toMatch(/^target_gone: /);
  });
});

it("a failure that nobody asks about any more is brought to its end by the list", async () => {
  const { server, driver, open } = await startSet();
  await driver.apply(orderOf("0", "v2-sick"));
  const isMade = async () => {
    await driver.observe(orderOf("0", "v2-sick"));
    return imagesOfPods(server, "gw")["0"] === kubeImage("v2-sick");
  };
  await waitFor(isMade, { withinMs: 5_000, what: "the new pod" });
  const other = open({ readyTimeoutMs: 500 });

  const isBack = async () => {
    await other.list();
    return imagesOfPods(server, "gw")["0"] === kubeImage("v1");
  };
  await waitFor(isBack, { withinMs: 10_000, what: "the old image to be back" });
  expect(await untilSettled(other, orderOf("0", "v2-sick"))).toMatchObject({
    reason: expect.stringMatching(/^probe_failing/),
  });
});

it("a deploy whose record was removed is judged by its pod alone", async () => {
  const { server, driver } = await startSet();
  await deploy(driver, orderOf("0", "v2"));
  const set = setOf(server);
  server.objects.put("statefulsets", { ...set, metadata: { ...set.metadata, annotations: {} } });

  expect(await driver.observe(orderOf("0", "v2"))).toMatchObject({ status: "ready" });
  expect(await driver.observe(orderOf("1", "v2"))).toMatchObject({ isOrdered: false });
});
