/** A fleet of workloads in a Kubernetes cluster (docs/fleets.md, "Kubernetes"). */
import {
  type DeployOrder,
  type Driver,
  type ListedSentinel,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import { boundLabels } from "#fleet/labels.ts";
import type { Log } from "#kernel/log.ts";
import { findAccess } from "./access.ts";
import { type Calls, createCalls, type Place } from "./calls.ts";
import { createChanges } from "./changes.ts";
import { createCluster, ForbiddenError } from "./client.ts";
import { chooseContainer } from "./container.ts";
import { createDeployments } from "./deployment.ts";
import { createIdentities } from "./identity.ts";
import { imageOf, isAvailable, isComplete } from "./judge.ts";
import { isOpen, readRecord } from "./record.ts";
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
  /** How long new pods have to be ready, unless the Deployment says it by its minReadySeconds. */
  stableMs: number;
  environment: NodeJS.ProcessEnv;
  log: Log;
};

export function createKubernetesDriver(settings: KubernetesSettings): Driver {
  const access = findAccess(settings.context, settings.environment);
  const cluster = createCluster(access, createIdentities(access));
  const calls = createCalls(cluster, settings.fieldManager);
  const changes = createChanges(cluster, settings.selector);
  const namespaces =
    settings.namespaces.length > 0 ? [...new Set(settings.namespaces)] : [cluster.namespace];
  const { container, log } = settings;
  const { nowMs, orderedAtMs } = cluster;
  const deployments = createDeployments({ ...settings, calls, nowMs, orderedAtMs });
  const stopped = new AbortController();
  let isFinishing = false;

  const place = ({ sentinelId }: DeployOrder): Place | undefined => {
    const [namespace = "", name = "", ...more] = sentinelId.split("/");
    const isKnown = namespaces.includes(namespace) && name !== "" && more.length === 0;
    return isKnown ? { namespace, name } : undefined;
  };

  /** A look, and another one as soon as the workload has changed: sooner than the next poll would come. */
  const observe = async (at: Place, order: DeployOrder, signal: AbortSignal | undefined) => {
    const over = new AbortController();
    const ends = AbortSignal.any([over.signal, ...(signal === undefined ? [] : [signal])]);
    // Waits from before the look on: a change during it counts.
    const changed = changes.next(at, changeWithinMs, ends);
    try {
      const seen = await deployments.observe(at, order, signal);
      if (seen.status !== "progressing" || seen.isOrdered !== true) return seen;
      await changed;
      return ends.aborted ? seen : await deployments.observe(at, order, signal);
    } finally {
      over.abort();
    }
  };

  const finish = async (workloads: readonly Workload[]): Promise<void> => {
    if (isFinishing) return;
    isFinishing = true;
    for (const workload of workloads) {
      if (stopped.signal.aborted) break;
      await deployments.finish(workload, stopped.signal).catch(({ message: reason }: Error) => {
        log.warn({ sentinel: idOf(workload), reason }, "deploy not brought to its end");
      });
    }
    isFinishing = false;
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
      try {
        return await deployments.apply(at, order, call);
      } catch (error) {
        if (!(error instanceof ForbiddenError)) throw error;
        return { failure: error.message, isOfApi: true };
      }
    },
    observe: async (order, call = {}) => {
      const at = place(order);
      if (at === undefined) return { status: "failed", reason: unknown };
      try {
        return await observe(at, order, call.signal);
      } catch (error) {
        // It may be allowed again, and until then nothing is known of the order.
        throw error instanceof ForbiddenError ? new UnreachableError(error.message) : error;
      }
    },
    // The list goes on with what was under way.
    start: async () => {},
    stop: async () => {
      stopped.abort();
      changes.stop();
      await cluster.stop();
    },
  };
}

/** A pod that fails does not change its Deployment, which is looked at after this time anyway. */
const changeWithinMs = 1_000;

const unknown = "target_gone: its namespace is not in fleet.kubernetes.namespaces";

async function listWorkloads(
  calls: Calls,
  {
    namespaces,
    selector,
    signal,
  }: Pick<KubernetesSettings, "namespaces" | "selector"> & {
    signal: AbortSignal | undefined;
  },
): Promise<Workload[]> {
  try {
    const lists = await Promise.all(
      namespaces.map((namespace) => calls.list({ namespace, selector, ...(signal && { signal }) })),
    );
    return lists.flat();
  } catch (error) {
    // A list that is refused says nothing about the sentinels: they are all still there.
    throw error instanceof ForbiddenError ? new UnreachableError(error.message) : error;
  }
}

function idOf({ metadata }: Workload): string {
  return `${metadata.namespace}/${metadata.name}`;
}

const regionLabel = "topology.kubernetes.io/region";

function toListed(workload: Workload, wanted: string): ListedSentinel {
  const { namespace, labels } = workload.metadata;
  const image = imageOf(workload, chooseContainer(workload, wanted) ?? "");
  const record = readRecord(workload);
  const isUnderWay = isOpen(record) && record.image === image && !isComplete(workload);
  return {
    id: idOf(workload),
    region: labels[regionLabel] ?? labels["vedette.region"] ?? namespace,
    image,
    running_image: isUnderWay ? record.previous : image,
    healthy: isAvailable(workload),
    labels: boundLabels({ ...labels, namespace }),
  };
}
