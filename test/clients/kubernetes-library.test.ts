/** Kubernetes' own client library for JavaScript, unchanged, at the double; and its models as a judge of what we send. */
import {
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  PatchStrategy,
  setHeaderOptions,
  Watch,
} from "@kubernetes/client-node";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ApiServer } from "../support/kubernetes/api-server.ts";
import { addDeployment, imageAt, kubeImage, namespace } from "../support/kubernetes/fleet.ts";
import type { KubeObject } from "../support/kubernetes/objects.ts";
import { fateNames, fateOf } from "../support/kubernetes/pod-states.ts";
import { waitFor } from "../support/wait-for.ts";
import {
  type Cluster,
  createDriver,
  type Driver,
  orderOf,
  startCluster,
  untilSettled,
} from "./kubernetes/cluster.ts";
import { findModelFaults } from "./kubernetes/model-check.ts";

function configOf({ kubeconfig }: Cluster): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return config;
}

async function deploy(driver: Driver, tag: string): Promise<void> {
  await driver.apply(orderOf(tag));
  await untilSettled(driver, orderOf(tag));
}

describe("the client library", () => {
  it("lists Deployments page by page, and their pods", async () => {
    const config = configOf(await startCluster(["a", "b", "c"]));
    const apps = config.makeApiClient(AppsV1Api);

    const first = await apps.listNamespacedDeployment({ namespace, limit: 2 });
    const _continue = first.metadata?._continue ?? "";
    const second = await apps.listNamespacedDeployment({ namespace, limit: 2, _continue });
    const pods = await config.makeApiClient(CoreV1Api).listPodForAllNamespaces({
      labelSelector: "app in (a,c)",
    });

    const names = [...first.items, ...second.items].map(({ metadata }) => metadata?.name);
    expect(names).toEqual(["a", "b", "c"]);
    expect(second.metadata?._continue).toBeUndefined();
    expect(pods.items.map(({ status }) => status?.phase)).toEqual(["Running", "Running"]);
  });

  it("reads a Deployment that we have deployed, with who has set what", async () => {
    const cluster = await startCluster();
    await deploy(createDriver(cluster), "v2");

    const apps = configOf(cluster).makeApiClient(AppsV1Api);
    const read = await apps.readNamespacedDeployment({ name: "gw", namespace });

    expect(read.spec?.template.spec?.containers[0]?.image).toBe(kubeImage("v2"));
    expect(read.metadata?.creationTimestamp?.getTime()).toBeGreaterThan(Date.now() - 60_000);
    expect(read.status?.conditions?.map(({ reason }) => reason)).toEqual([
      "MinimumReplicasAvailable",
      "NewReplicaSetAvailable",
    ]);
    expect(read.metadata?.managedFields).toContainEqual(
      expect.objectContaining({ manager: "vedette", operation: "Apply" }),
    );
  });

  it("is told what is not there", async () => {
    const apps = configOf(await startCluster()).makeApiClient(AppsV1Api);

    const read = apps.readNamespacedDeployment({ name: "gone", namespace });

    await expect(read).rejects.toMatchObject({
      code: 404,
      body: expect.stringContaining('deployments.apps \\"gone\\" not found'),
    });
  });

  it("applies an image that is ours, and is refused with our name", async () => {
    const cluster = await startCluster();
    await deploy(createDriver(cluster), "v2");
    const body = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "gw" },
      spec: { template: { spec: { containers: [{ name: "gateway", image: kubeImage("v9") }] } } },
    };

    const applied = configOf(cluster)
      .makeApiClient(AppsV1Api)
      .patchNamespacedDeployment(
        { name: "gw", namespace, fieldManager: "other", body },
        setHeaderOptions("Content-Type", PatchStrategy.ServerSideApply),
      );

    await expect(applied).rejects.toMatchObject({
      code: 409,
      body: expect.stringContaining("FieldManagerConflict"),
    });
    expect(imageAt(cluster.server, "gw")).toBe(kubeImage("v2"));
  });

  it("watches our deploy from the order to its end", async () => {
    const cluster = await startCluster();
    const events: { type: string; object: KubeObject }[] = [];
    const apps = configOf(cluster).makeApiClient(AppsV1Api);
    const { metadata } = await apps.listNamespacedDeployment({ namespace });
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const watch = await new Watch(configOf(cluster)).watch(
      path,
      { resourceVersion: metadata?.resourceVersion, labelSelector: "vedette.sentinel" },
      (type, object) => events.push({ type, object }),
      () => {},
    );
    onTestFinished(() => watch.abort());

    await deploy(createDriver(cluster), "v2");

    const isComplete = ({ object }: { object: KubeObject }) =>
      object.status.observedGeneration === 2 && object.status.updatedReplicas === 1;
    await waitFor(() => events.some(isComplete), { withinMs: 5_000, what: "the last event" });
    const generations = events.map(({ object }) => object.metadata.generation);
    expect(new Set(generations)).toEqual(new Set([2]));
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(["MODIFIED"]));
    // The order comes before the controller has seen it.
    expect(events[0]?.object.status.observedGeneration).toBe(1);
  });
});

describe("the library's models", () => {
  it("find a field that Kubernetes does not know, and a value of another type", () => {
    const deployment = {
      apiVersion: "apps/v1",
      metadata: { labels: { app: 1 }, creationTimestamp: "yesterday" },
      spec: {
        replica: 3,
        replicas: "3",
        paused: "no",
        template: { spec: { containers: [{ name: "gateway", foo: 1 }, "sidecar"] } },
      },
    };

    expect(findModelFaults(deployment, "V1Deployment")).toEqual([
      "/metadata/labels/app: no string",
      "/metadata/creationTimestamp: no Date",
      "/spec/replica: unknown",
      "/spec/replicas: no number",
      "/spec/paused: no boolean",
      "/spec/template/spec/containers/0/foo: unknown",
      "/spec/template/spec/containers/1: no V1Container",
    ]);
  });

  it("find nothing in what we send: an order, one that fails, and what it takes back", async () => {
    const cluster = await startCluster();
    const driver = createDriver(cluster);

    for (const tag of ["v2", "v3-crash", "v4"]) await deploy(driver, tag);

    const sent = bodiesOf(cluster.server);
    // A deploy that succeeds is noted in a second one.
    const tags = ["v2", "v2", "v3-crash", "v2", "v4", "v4"];
    expect(sent.map(imageIn)).toEqual(tags.map(kubeImage));
    expect(sent.flatMap((body) => findModelFaults(body, "V1Deployment"))).toEqual([]);
  });

  it("find nothing in what the double keeps, whatever becomes of its pods", async () => {
    const isOverQuota = (image: string) => image === kubeImage("v1-many");
    const { server } = await startCluster([], { isOverQuota });
    const faults: string[] = [];
    const models: Record<string, string> = {
      deployments: "V1Deployment",
      replicasets: "V1ReplicaSet",
      pods: "V1Pod",
    };
    server.objects.watch(0, ({ resource, object }) => {
      faults.push(...findModelFaults(object, models[resource] ?? resource));
    });

    const endings = ["", "-many", ...fateNames];
    for (const ending of endings) {
      addDeployment(server, `gw${ending}`, { image: kubeImage(`v1${ending}`) });
    }
    const pods = () => server.objects.list("pods", namespace);
    const areSettled = () => pods().length === endings.length - 1 && pods().every(isSettled);
    await waitFor(areSettled, { withinMs: 5_000, what: "the pods" });
    await waitFor(() => isRefused(server, "gw-many"), { withinMs: 5_000, what: "the quota" });

    expect(faults).toEqual([]);
  });
});

function bodiesOf({ requests }: ApiServer): KubeObject[] {
  return requests.filter(({ verb }) => verb === "patch").map(({ body }) => JSON.parse(body));
}

function imageIn({ spec }: KubeObject): string {
  return spec.template.spec.containers[0].image;
}

/** Whether a pod has become what it stays. */
function isSettled({ spec: { containers }, status }: KubeObject): boolean {
  const last = fateOf(containers[0].image, 0).at(-1)?.status;
  const stateOf = (of: KubeObject["status"]) => {
    const { running, ...state } = of?.containerStatuses?.[0]?.state ?? {};
    return JSON.stringify({ ...state, isRunning: running !== undefined });
  };
  return stateOf(status) === stateOf(last);
}

function isRefused({ objects }: ApiServer, name: string): boolean {
  const found = objects.get({ resource: "deployments", namespace, name });
  const types: { type: string }[] = found?.status?.conditions ?? [];
  return types.some(({ type }) => type === "ReplicaFailure");
}
