/** A fleet of workloads in a Kubernetes cluster (docs/fleets.md, "Kubernetes"). */
import {
  type DeployOrder,
  type Driver,
  type ListedSentinel,
  type SentinelObservation,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import { boundLabels } from "#fleet/labels.ts";
import type { Log } from "#kernel/log.ts";
import { findAccess } from "./access.ts";
import { type Calls, createCalls, type Place } from "./calls.ts";
import { createCluster, ForbiddenError } from "./client.ts";
import { chooseContainer } from "./container.ts";
import { createDeployments } from "./deployment.ts";
import { createIdentities } from "./identity.ts";
import { imageOf, isComplete } from "./judge.ts";
import { readRecord, recordKey } from "./record.ts";
import type { Workload } from "./schemas.ts";

export type KubernetesSettings = {
  /** Of the kubeconfig; empty: the current one, or the pod's own service account. */
  context: string;
  /** Empty: that of the context. */
  namespaces: readonly string[];
  /** A label selector, as kubectl has it. */
  selector: string;
  container: string;
  fieldManager: string;
  isForced: boolean;
  readyTimeoutMs: number;
  environment: NodeJS.ProcessEnv;
  log: Log;
};

export function createKubernetesDriver(settings: KubernetesSettings): Driver {
  const access = findAccess(settings.context, settings.environment);
  const cluster = createCluster(access, createIdentities(access));
  const manager = { name: settings.fieldManager, isForced: settings.isForced };
  const calls = createCalls(cluster, manager);
  const namespaces = settings.namespaces.length > 0 ? settings.namespaces : [cluster.namespace];
  const { container, readyTimeoutMs, log } = settings;
  const deployments = createDeployments({ calls, container, readyTimeoutMs, nowMs: Date.now });

  const place = ({ sentinelId }: DeployOrder): Place | undefined => {
    const [namespace = "", name = "", ...more] = sentinelId.split("/");
    const isKnown = namespaces.includes(namespace) && name !== "" && more.length === 0;
    return isKnown ? { kind: "deployments", namespace, name } : undefined;
  };

  /** What is not there to be told by a call: it ended for good before it began. */
  const told = async <Answer>(ask: () => Promise<Answer>, otherwise: (reason: string) => Answer) => {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ForbiddenError) return otherwise(error.message);
      throw error;
    }
  };

  const finish = async (workloads: readonly Workload[]): Promise<void> => {
    for (const workload of workloads) {
      const { namespace, name } = workload.metadata;
      const at: Place = { kind: "deployments", namespace, name };
      await deployments.finish(at, workload).catch(({ message: reason }: Error) => {
        log.warn({ sentinel: `${namespace}/${name}`, reason }, "deploy not brought to its end");
      });
    }
  };

  return {
    list: async (signal) => {
      const workloads = await listWorkloads(calls, { ...settings, namespaces, signal });
      void finish(workloads);
      return workloads.map((workload) => toListed(workload, container));
    },
    apply: async (order, call = {}) => {
      const at = place(order);
      if (at === undefined) return { failure: unknown };
      return told(
        () => deployments.apply(at, order, call),
        (failure) => ({ failure, isOfApi: true }),
      );
    },
    observe: async (order, call = {}) => {
      const at = place(order);
      if (at === undefined) return { status: "failed", reason: unknown };
      return told<SentinelObservation>(
        () => deployments.observe(at, order, call),
        (reason) => ({ status: "failed", reason, isOfApi: true }),
      );
    },
    // The list goes on with what was under way.
    start: async () => {},
    stop: () => cluster.stop(),
  };
}

const unknown = "target_gone: its namespace is not in fleet.kubernetes.namespaces";

async function listWorkloads(
  calls: Calls,
  { namespaces, selector, signal }: Pick<KubernetesSettings, "namespaces" | "selector"> & {
    signal: AbortSignal | undefined;
  },
): Promise<Workload[]> {
  try {
    const lists = await Promise.all(
      namespaces.map((namespace) =>
        calls.list("deployments", { namespace, selector, ...(signal && { signal }) }),
      ),
    );
    return lists.flat();
  } catch (error) {
    // A list that is refused says nothing about the sentinels: they are all still there.
    throw error instanceof ForbiddenError ? new UnreachableError(error.message) : error;
  }
}

const regionLabel = "topology.kubernetes.io/region";

function toListed(workload: Workload, wanted: string): ListedSentinel {
  const { namespace, name, labels, annotations } = workload.metadata;
  const image = imageOf(workload, chooseContainer(workload, wanted) ?? "");
  const record = readRecord(annotations, recordKey());
  const isDone = isComplete(workload);
  const isUnderWay = !isDone && record !== undefined && record.image === image;
  return {
    id: `${namespace}/${name}`,
    region: labels[regionLabel] ?? labels["vedette.region"] ?? namespace,
    image,
    running_image: isUnderWay ? record.previous : image,
    healthy: isDone,
    labels: boundLabels({ ...labels, namespace }),
  };
}
