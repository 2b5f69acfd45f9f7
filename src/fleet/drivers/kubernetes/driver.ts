/** A fleet of workloads in a Kubernetes cluster (docs/fleets.md, "Kubernetes"). */
import { type Driver, type ListedSentinel, UnreachableError } from "#fleet/drivers/driver.ts";
import type { Log } from "#kernel/log.ts";
import { findAccess } from "./access.ts";
import { createCalls } from "./calls.ts";
import { createCluster, ForbiddenError } from "./client.ts";
import { createFleet, idOf } from "./fleet.ts";
import { createIdentities } from "./identity.ts";
import { createChanges, lookAgain } from "./look-again.ts";
import type { Workload, WorkloadKind } from "./schemas.ts";
import { createSentinels } from "./sentinels.ts";

export type KubernetesSettings = {
  /** The context of the kubeconfig; empty: the current one, or the pod's own service account. */
  context: string;
  /** Empty: that of the context. */
  namespaces: readonly string[];
  /** The kinds of workloads; empty: Deployments. */
  kinds: readonly WorkloadKind[];
  /** A label selector, as kubectl has it. */
  selector: string;
  container: string;
  fieldManager: string;
  isForced: boolean;
  readyTimeoutMs: number;
  /** The time for which new pods have to be ready, unless the workload has minReadySeconds. */
  stableMs: number;
  /** The time for which an image with a digest may be missing at its registry. */
  imageWaitMs: number;
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
  const kinds = settings.kinds.length > 0 ? [...new Set(settings.kinds)] : onlyDeployments;
  const { selector, log } = settings;
  const fleet = createFleet(calls, { namespaces, kinds, selector }, log);
  const { nowMs, orderedAtMs } = cluster;
  const sentinels = createSentinels({ ...settings, calls, nowMs, orderedAtMs });
  const stopped = new AbortController();
  let isFinishing = false;

  const finish = async (listed: readonly Workload[]): Promise<void> => {
    if (isFinishing) return;
    isFinishing = true;
    for (const workload of listed) {
      if (stopped.signal.aborted) break;
      await sentinels.finish(workload, stopped.signal).catch(({ message: reason }: Error) => {
        if (stopped.signal.aborted) return;
        log.warn({ sentinel: idOf(workload), reason }, "deploy not brought to its end");
      });
    }
    isFinishing = false;
  };

  const list = async (signal: AbortSignal | undefined): Promise<ListedSentinel[]> => {
    const listed = await fleet.list(signal);
    void finish(listed);
    return (await Promise.all(listed.map((one) => sentinels.list(one, signal)))).flat();
  };

  return {
    // A list that is refused says nothing about the sentinels: they are all still there.
    list: (signal) => orUnreachable(() => list(signal)),
    apply: async (order, call = {}) => {
      try {
        const target = await fleet.find(order.sentinelId, call.signal);
        return target === undefined
          ? { failure: unknown }
          : await sentinels.apply(target, order, call);
      } catch (error) {
        if (!(error instanceof ForbiddenError)) throw error;
        return { failure: error.message, isOfApi: true };
      }
    },
    // It may be allowed again, and until then nothing is known of the order.
    observe: (order, call = {}) =>
      orUnreachable(async () => {
        const target = await fleet.find(order.sentinelId, call.signal);
        if (target === undefined) return { status: "failed", reason: unknown };
        const look = () => sentinels.observe(target, order, call);
        return lookAgain(target.place, { changes, signal: call.signal, look });
      }),
    readLog: async ({ sentinelId, deployId }, call) => {
      try {
        const target = await fleet.find(sentinelId, call.signal);
        return target === undefined
          ? { absent: unknown }
          : await sentinels.readLog(target, deployId, call);
      } catch (error) {
        if (!(error instanceof ForbiddenError)) throw error;
        return { absent: error.message };
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

const onlyDeployments: readonly WorkloadKind[] = ["deployments"];

const unknown = "target_gone: no workload of fleet.kubernetes.namespaces and kinds has this name";

async function orUnreachable<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof ForbiddenError ? new UnreachableError(error.message) : error;
  }
}
