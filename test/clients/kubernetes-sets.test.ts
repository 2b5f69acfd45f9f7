/** kubectl and Kubernetes' own client library, unchanged, at StatefulSets and DaemonSets of the double, and beside our driver. */
import { AppsV1Api, CoreV1Api, KubeConfig, type V1Eviction } from "@kubernetes/client-node";
import { beforeAll, describe, expect, it } from "vitest";
import type { ApiServerSettings } from "../support/kubernetes/api-server.ts";
import {
  addSet,
  imagesOfPods,
  kubeImage,
  namespace,
  type TestSet,
  untilAvailable,
} from "../support/kubernetes/fleet.ts";
import { waitFor } from "../support/wait-for.ts";
import {
  type Cluster,
  createDriver,
  createKubectl,
  orderOf,
  startCluster,
  untilSettled,
} from "./kubernetes/cluster.ts";
import { findModelFaults } from "./kubernetes/model-check.ts";
import { canRunKubectl, obtainKubectl } from "./kubernetes/obtain-kubectl.ts";

const kinds = ["statefulsets", "daemonsets"] as const;

async function startSet(over: TestSet = {}, settings: ApiServerSettings = {}): Promise<Cluster> {
  const cluster = await startCluster([], settings);
  addSet(cluster.server, "gw", over);
  await untilAvailable(cluster.server);
  return cluster;
}

const rolling = { strategy: "RollingUpdate" } as const;

let program: string;

describe.skipIf(!canRunKubectl())("kubectl", () => {
  beforeAll(async () => {
    program = await obtainKubectl();
  });

  it.each(["statefulset", "daemonset"])(
    "sets the image of a %s, and waits for its pods",
    async (kind) => {
      const cluster = await startSet({
        ...rolling,
        kind: kind === "daemonset" ? "DaemonSet" : "StatefulSet",
      });
      const kubectl = createKubectl(program, cluster.kubeconfig);

      const set = await kubectl(["set", "image", `${kind}/gw`, `gateway=${kubeImage("v2")}`]);
      const rollout = await kubectl(["rollout", "status", `${kind}/gw`, "--timeout=20s"]);

      expect(set).toMatchObject({ code: 0, stdout: `${kind}.apps/gw image updated\n` });
      expect(rollout).toMatchObject({ code: 0, stderr: "" });
      expect(rollout.stdout).toMatch(
        kind === "daemonset" ? /successfully rolled out/ : /update complete|complete 2 pods/,
      );
      expect(new Set(Object.values(imagesOfPods(cluster.server, "gw")))).toEqual(
        new Set([kubeImage("v2")]),
      );
      expect(cluster.server.faults).toEqual([]);
    },
  );

  it("says that there is no rollout of a set whose pods are replaced by others", async () => {
    const { kubeconfig } = await startSet();

    const status = ["rollout", "status", "statefulset/gw", "--timeout=20s"];
    const rollout = await createKubectl(program, kubeconfig)(status);

    expect(rollout.code).toBe(1);
    expect(rollout.stderr).toMatch(/only available for RollingUpdate strategy type/);
  });

  it("deletes a member's pod, and waits for its end: the next one is made of the template", async () => {
    const { server, kubeconfig } = await startSet({}, { endMs: 200 });
    const kubectl = createKubectl(program, kubeconfig);
    await kubectl(["set", "image", "statefulset/gw", `gateway=${kubeImage("v2")}`]);

    const deleted = await kubectl(["delete", "pod", "gw-0", "--timeout=20s"]);

    expect(deleted).toMatchObject({ code: 0, stdout: 'pod "gw-0" deleted from edge namespace\n' });
    const images = { 0: kubeImage("v2"), 1: kubeImage("v1") };
    const isMade = () => imagesOfPods(server, "gw")["0"] === images[0];
    await waitFor(isMade, { withinMs: 5_000, what: "the next pod" });
    expect(imagesOfPods(server, "gw")).toEqual(images);
  });

  it("sees a member's deploy as the pod of another uid, and waits for the set meanwhile", async () => {
    const cluster = await startSet();
    const kubectl = createKubectl(program, cluster.kubeconfig);
    const uidOf = async () =>
      (await kubectl(["get", "pod", "gw-1", "-o", "jsonpath={.metadata.uid} {.status.phase}"]))
        .stdout;
    const before = await uidOf();
    const driver = createDriver(cluster, kinds);
    await driver.apply(orderOf("v2", "1"));

    const [waited, seen] = await Promise.all([
      kubectl(
        "wait --for=jsonpath={.status.updatedReplicas}=1 statefulset/gw --timeout=20s".split(" "),
      ),
      untilSettled(driver, orderOf("v2", "1")),
    ]);

    expect(seen).toMatchObject({ status: "ready", running_image: kubeImage("v2") });
    expect(waited).toMatchObject({ code: 0, stdout: "statefulset.apps/gw condition met\n" });
    expect((await uidOf()).split(" ")[1]).toBe("Running");
    expect(await uidOf()).not.toBe(before);
  });

  it("is refused a template that we have set, and told that it is ours", async () => {
    const cluster = await startSet();
    await createDriver(cluster, kinds).apply(orderOf("v2", "1"));
    const labels = { app: "gw" };
    const manifest = {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "gw", namespace },
      spec: {
        serviceName: "gw",
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: "gateway", image: kubeImage("v9") }] },
        },
      },
    };

    const apply = ["apply", "--server-side", "--field-manager=other", "-f", "-"];
    const kubectl = createKubectl(program, cluster.kubeconfig);
    const { code, stderr } = await kubectl(apply, JSON.stringify(manifest));

    expect(code).toBe(1);
    expect(stderr).toContain('Apply failed with 1 conflict: conflict with "vedette"');
  });
});

/** Of what was sent: orders and ends, evictions, deletions. */
function faultsOfBodies({ server }: Cluster, kind: "StatefulSet" | "DaemonSet"): string[] {
  const models: Record<string, string> = {
    patch: `V1${kind}`,
    create: "V1Eviction",
    delete: "V1DeleteOptions",
  };
  const sent = server.requests.filter(({ verb, body }) => verb in models && body !== "");
  expect(new Set(sent.map(({ verb }) => verb))).toEqual(new Set(Object.keys(models)));
  return sent.flatMap(({ verb, body }) => findModelFaults(JSON.parse(body), models[verb] ?? ""));
}

describe("the client library", () => {
  const apiOf = ({ kubeconfig }: Cluster) => {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    return { apps: config.makeApiClient(AppsV1Api), core: config.makeApiClient(CoreV1Api) };
  };

  it("evicts a pod, of the uid that is meant and no other, and is told of a budget", async () => {
    const cluster = await startSet();
    const { core } = apiOf(cluster);
    const metadata = { name: "gw-1", namespace };
    const evict = (deleteOptions: V1Eviction["deleteOptions"] = {}) =>
      core.createNamespacedPodEviction({
        ...metadata,
        body: { apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions },
      });

    await expect(evict({ preconditions: { uid: "other" } })).rejects.toMatchObject({ code: 409 });
    const budget = { metadata: { name: "keep", namespace, uid: "b", resourceVersion: "" } };
    const spec = { minAvailable: 2, selector: { matchLabels: { app: "gw" } } };
    cluster.server.objects.put("poddisruptionbudgets", { ...budget, spec } as never);
    await expect(evict()).rejects.toMatchObject({
      code: 429,
      body: expect.stringContaining('"reason":"DisruptionBudget"'),
    });
    cluster.server.objects.remove({ resource: "poddisruptionbudgets", namespace, name: "keep" });
    const before = await core.readNamespacedPod(metadata);
    await evict();

    // By then it is ending, gone, or followed by another one.
    const after = await core.readNamespacedPod(metadata).catch(() => undefined);
    const isSame = after?.metadata?.uid === before.metadata?.uid;
    expect(isSame && after?.metadata?.deletionTimestamp === undefined).toBe(false);
  });

  it.each(["StatefulSet", "DaemonSet"] as const)(
    "finds nothing wrong in what we send and what the double keeps of a %s, whatever becomes of a member",
    async (kind) => {
      const cluster = await startSet({ kind });
      const faults: string[] = [];
      cluster.server.objects.watch(0, ({ object }) => {
        faults.push(...findModelFaults(object, `V1${object.kind}`));
      });
      const driver = createDriver(cluster, kinds);
      const member = kind === "StatefulSet" ? "0" : "node-a";
      for (const tag of ["v2", "v3-crash"]) {
        await driver.apply(orderOf(tag, member));
        await untilSettled(driver, orderOf(tag, member));
      }

      expect(faults).toEqual([]);
      expect(faultsOfBodies(cluster, kind)).toEqual([]);
    },
  );

  it("lists the revisions of a set, by which a pod's image is told", async () => {
    const cluster = await startSet();
    const driver = createDriver(cluster, kinds);
    await driver.apply(orderOf("v2", "1"));
    await untilSettled(driver, orderOf("v2", "1"));

    const { apps, core } = apiOf(cluster);
    const revisions = await apps.listNamespacedControllerRevision({
      namespace,
      labelSelector: "app=gw",
    });
    const pod = await core.readNamespacedPod({ name: "gw-1", namespace });

    const made = revisions.items.find(
      ({ metadata }) => metadata?.name === pod.metadata?.labels?.["controller-revision-hash"],
    );
    expect(made?.revision).toBe(2);
    expect(JSON.stringify(made?.data)).toContain(kubeImage("v2"));
  });
});
