/** The calls on the pods of workloads, and on what workloads keep of their templates. */
import type { LogCall, LogTail } from "#fleet/drivers/driver.ts";
import type { Cluster } from "./client.ts";
import { type Generations, lasts, ownedBy, splitPods, splitPodsOfSet } from "./generations.ts";
import { listAll } from "./pages.ts";
import { evictPod, type PodEnd, removePod } from "./pod-end.ts";
import { chooseLog, readPodLog } from "./pod-logs.ts";
import {
  type Pod,
  PodPage,
  ReplicaSetPage,
  type Revision,
  RevisionPage,
  type Workload,
} from "./schemas.ts";

export type MadePods = { pods: readonly Pod[]; revisions: readonly Revision[] };

export function createPodCalls(cluster: Pick<Cluster, "call" | "readEnd">) {
  /** Of whoever owns them. */
  const podsOf = (workload: Workload, signal?: AbortSignal): Promise<Pod[]> => {
    const path = `/api/v1/namespaces/${encodeURIComponent(workload.metadata.namespace)}/pods`;
    return listAll(cluster, { path, query: queryOf(workload), page: PodPage, signal });
  };

  const replicaSetsOf = (workload: Workload, signal?: AbortSignal) => {
    const path = `${appsOf(workload)}/replicasets`;
    return listAll(cluster, { path, query: queryOf(workload), page: ReplicaSetPage, signal });
  };

  const revisionsOf = async (workload: Workload, signal?: AbortSignal): Promise<Revision[]> => {
    const path = `${appsOf(workload)}/controllerrevisions`;
    const query = queryOf(workload);
    const all = await listAll(cluster, { path, query, page: RevisionPage, signal });
    return ownedBy(workload.metadata.uid, all);
  };

  return {
    /** By the template that they are of, without those that do not last. */
    async pods(workload: Workload, signal?: AbortSignal): Promise<Generations> {
      const living = async () => (await podsOf(workload, signal)).filter(lasts);
      if (workload.resource === "deployments") {
        const [sets, pods] = await Promise.all([replicaSetsOf(workload, signal), living()]);
        return splitPods(workload, sets, pods);
      }
      const [revisions, pods] = await Promise.all([revisionsOf(workload, signal), living()]);
      return splitPodsOfSet(workload, revisions, pods);
    },

    /** A set's own pods, with those that do not last, and what it keeps of each template. */
    async madePods(set: Workload, signal?: AbortSignal): Promise<MadePods> {
      const [pods, revisions] = await Promise.all([podsOf(set, signal), revisionsOf(set, signal)]);
      return { pods: ownedBy(set.metadata.uid, pods), revisions };
    },

    /** Of whichever of these pods, and of its containers, says most. */
    log: async (pods: readonly Pod[], container: string, call: LogCall): Promise<LogTail> => {
      const of = chooseLog(pods, container);
      return of === undefined ? { absent: "there is no pod of it" } : readPodLog(cluster, of, call);
    },

    evict: (pod: Pod, signal?: AbortSignal): Promise<PodEnd> => evictPod(cluster, pod, signal),

    remove: (pod: Pod, signal?: AbortSignal): Promise<PodEnd> => removePod(cluster, pod, signal),
  };
}

function appsOf({ metadata }: Workload): string {
  return `/apis/apps/v1/namespaces/${encodeURIComponent(metadata.namespace)}`;
}

function queryOf({ spec: { selector } }: Workload): { labelSelector: string } {
  return { labelSelector: selectorOf(selector) };
}

/** As a query has it. */
export function selectorOf({
  matchLabels,
  matchExpressions,
}: Workload["spec"]["selector"]): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const others = matchExpressions.map(({ key, operator, values }) => {
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
  });
  return [...equal, ...others].join(",");
}
