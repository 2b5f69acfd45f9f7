/** A fleet of workloads at an API server, and a driver for it. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";
import {
  type DeployOrder,
  type Driver,
  type SentinelObservation,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import {
  createKubernetesDriver,
  type KubernetesSettings,
} from "#fleet/drivers/kubernetes/driver.ts";
import { createLog } from "#kernel/log.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import {
  type ApiServer,
  type ApiServerSettings,
  adminToken,
  startApiServer,
} from "./api-server.ts";
import type { KubeObject } from "./objects.ts";
import { newObject } from "./resources.ts";

export const namespace = "edge";
export const kubeImage = (tag: string) => `registry.example.com/team/gateway:${tag}`;

type Deployment = {
  image?: string;
  replicas?: number;
  labels?: Record<string, string>;
  /** Who has created it. */
  manager?: string;
  operation?: "Apply" | "Update";
  /** Merged into its spec. */
  spec?: object;
};

function buildDeployment(name: string, over: Deployment = {}): KubeObject {
  const { image = kubeImage("v1"), replicas = 1, labels = {}, spec = {} } = over;
  const app = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels: { "vedette.sentinel": "", ...labels } } as never,
    spec: {
      replicas,
      selector: { matchLabels: app },
      template: {
        metadata: { labels: app },
        spec: { containers: [{ name: "gateway", image }] },
      },
      ...spec,
    },
  };
}

export function addDeployment({ objects }: ApiServer, name: string, over: Deployment = {}): void {
  const { manager = "kubectl-create", operation = "Update" } = over;
  const made = newObject(buildDeployment(name, over), namespace, { manager, operation });
  objects.put("deployments", made);
}

export type TestSet = {
  kind?: "StatefulSet" | "DaemonSet";
  image?: string;
  replicas?: number;
  labels?: Record<string, string>;
  strategy?: "OnDelete" | "RollingUpdate";
  manager?: string;
  operation?: "Apply" | "Update";
  /** Merged into its spec. */
  spec?: object;
};

function buildSet(name: string, over: TestSet): KubeObject {
  const { kind = "StatefulSet", image = kubeImage("v1"), replicas = 2, labels = {} } = over;
  const { strategy = "OnDelete", spec = {} } = over;
  const app = { app: name };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name, namespace, labels: { "vedette.sentinel": "", ...labels } } as never,
    spec: {
      ...(kind === "StatefulSet" && { replicas, serviceName: name }),
      selector: { matchLabels: app },
      updateStrategy: { type: strategy },
      template: { metadata: { labels: app }, spec: { containers: [{ name: "gateway", image }] } },
      ...spec,
    },
  };
}

/** A StatefulSet whose members are replaced one by one, unless it is said otherwise. */
export function addSet({ objects }: ApiServer, name: string, over: TestSet = {}): void {
  const { kind = "StatefulSet", manager = "kubectl-create", operation = "Update" } = over;
  const made = newObject(buildSet(name, over), namespace, { manager, operation });
  objects.put(kind === "StatefulSet" ? "statefulsets" : "daemonsets", made);
}

/** The image of each pod, by its StatefulSet's ordinal or by its node. */
export function imagesOfPods({ objects }: ApiServer, set: string): Record<string, string> {
  const pods = objects.list("pods", namespace, ({ metadata, spec }) => {
    const [owner] = metadata.ownerReferences ?? [];
    return owner?.name === set && spec !== undefined;
  });
  const nameOf = ({ metadata, spec }: KubeObject) =>
    spec.nodeName ?? metadata.name.slice(set.length + 1);
  return Object.fromEntries(pods.map((pod) => [nameOf(pod), pod.spec.containers[0].image]));
}

export function imageAt({ objects }: ApiServer, name: string): string {
  const found = objects.get({ resource: "deployments", namespace, name });
  return found?.spec.template.spec.containers[0].image;
}

/** A file that names an API server, for whoever has the token. */
export function writeKubeconfig(
  url: string,
  token = adminToken,
): { path: string; remove: () => void } {
  const directory = makeTempDir();
  const file = path.join(directory.path, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace } }],
    clusters: [{ name: "test", cluster: { server: url } }],
    users: [{ name: "test", user: { token } }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return { path: file, remove: directory.remove };
}

/** Ends with the test that asks for it. */
export function createTestDriver(
  url: string,
  { token, ...over }: Partial<KubernetesSettings> & { token?: string } = {},
): Driver {
  const kubeconfig = writeKubeconfig(url, token);
  onTestFinished(kubeconfig.remove);
  const driver = createKubernetesDriver({
    context: "",
    namespaces: [],
    kinds: [],
    selector: "vedette.sentinel",
    container: "",
    fieldManager: "vedette",
    isForced: false,
    readyTimeoutMs: 60_000,
    imageWaitMs: 120_000,
    stableMs: 0,
    environment: { KUBECONFIG: kubeconfig.path },
    log: createLog({ level: "silent", format: "json" }),
    ...over,
  });
  onTestFinished(driver.stop);
  return driver;
}

/** Once all workloads have as many pods that serve as they should have. */
export async function untilAvailable({ objects }: ApiServer): Promise<void> {
  const isServing = ({ kind, metadata, spec, status }: KubeObject) => {
    if (status?.observedGeneration !== metadata.generation) return false;
    if (kind === "DaemonSet") return status?.numberAvailable === status?.desiredNumberScheduled;
    return (status?.availableReplicas ?? 0) === spec.replicas;
  };
  const all = () =>
    ["deployments", "statefulsets", "daemonsets"].flatMap((kind) => objects.list(kind, namespace));
  await waitFor(() => all().every(isServing), { withinMs: 5_000, what: "the workloads" });
}

/** A fleet of these names, whose Deployments run v1. */
export async function startKubernetesFleet(
  names: readonly string[],
  settings: ApiServerSettings = {},
): Promise<ApiServer> {
  const server = await startApiServer(settings);
  for (const name of names) addDeployment(server, name);
  await untilAvailable(server);
  return server;
}

/** As the deployer does: an order that cannot be given now is given again, and then looked after. */
export async function deploy(driver: Driver, order: DeployOrder): Promise<SentinelObservation> {
  const give = () =>
    driver.apply(order).catch((error: Error) => {
      if (error instanceof UnreachableError) return false as const;
      throw error;
    });
  const { sentinelId } = order;
  const given = await waitFor(give, { withinMs: 20_000, what: `${sentinelId} to be ordered` });
  if (given.failure !== undefined) return { status: "failed", reason: given.failure };
  const look = async () => {
    const seen = await driver.observe(order);
    return seen.status !== "progressing" && seen;
  };
  return waitFor(look, { withinMs: 20_000, what: `${sentinelId} to settle` });
}
