/** The calls on the pods of workloads, on their logs, and on what workloads keep of their templates. */
import { type LogPart, reachEnd } from "#fleet/drivers/calls.ts";
import type { LogCall, LogTail } from "#fleet/drivers/driver.ts";
import { parseJson } from "#kernel/body.ts";
import { cleanWords, maxRawLog } from "#kernel/log.ts";
import { type Cluster, type ClusterAnswer, listAll, messageOf } from "./client.ts";
import { type Generations, lasts, ownedBy, splitPods, splitPodsOfSet } from "./generations.ts";
import { isReady } from "./judge.ts";
import {
  type ContainerStatus,
  type Pod,
  PodPage,
  ReplicaSetPage,
  type Revision,
  RevisionPage,
  StatusBody,
  type Workload,
} from "./schemas.ts";

/** A set keeps ten unless told otherwise. Each pod's is looked for among them. */
const mostRevisions = 1_000;

export type MadePods = { pods: readonly Pod[]; revisions: readonly Revision[] };

export function createPodCalls(cluster: Pick<Cluster, "call" | "lists" | "readEnd">) {
  /** Lists the pods that the workload selects, of any owner. */
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
    const own = ownedBy(workload.metadata.uid, all);
    return own.toSorted((a, b) => b.revision - a.revision).slice(0, mostRevisions);
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

    /** Reads the log of the most telling one of these pods and of its containers. */
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

/** `gone`: it is another one, or none, by now. `forbidden`: not now, or not at all, with a reason. */
export type PodEnd = { kind: "ending" } | { kind: "gone" } | { kind: "forbidden"; words: string };

/** The second one is for servers before Kubernetes 1.22, which do not know the first. */
const versions = ["policy/v1", "policy/v1beta1"];

/** A PodDisruptionBudget may forbid it for now (https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/). */
async function evictPod(
  cluster: Pick<Cluster, "call">,
  pod: Pod,
  signal: AbortSignal | undefined,
): Promise<PodEnd> {
  const { name, namespace } = pod.metadata;
  let answer: ClusterAnswer = { status: 400, body: undefined };
  for (const apiVersion of versions) {
    if (answer.status !== 400) break;
    const body = {
      apiVersion,
      kind: "Eviction",
      metadata: { name, namespace },
      deleteOptions: onlyThis(pod),
    };
    answer = await cluster.call({ method: "POST", path: `${pathOf(pod)}/eviction`, body, signal });
  }
  return endOf(answer);
}

/** Ends it whatever a budget says, with the time that it has to end well. */
async function removePod(
  cluster: Pick<Cluster, "call">,
  pod: Pod,
  signal: AbortSignal | undefined,
): Promise<PodEnd> {
  const path = pathOf(pod);
  return endOf(await cluster.call({ method: "DELETE", path, body: onlyThis(pod), signal }));
}

function pathOf({ metadata }: Pod): string {
  const { namespace, name } = metadata;
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
}

/** The next pod of a StatefulSet has the same name. */
function onlyThis({ metadata }: Pod): object {
  return { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: metadata.uid } };
}

function endOf({ status, body }: ClusterAnswer): PodEnd {
  if (status < 300) return { kind: "ending" };
  if (status === 404 || status === 409) return { kind: "gone" };
  // The cause of a refusal names the disruption budget.
  const [cause] = StatusBody.safeParse(body).data?.details?.causes ?? [];
  const words = cause === undefined ? messageOf(body) : cleanWords(cause.message, 300);
  return { kind: "forbidden", words: words || `the API server answered ${status}` };
}

/** The limit of the requested lines: a server counts from the first of them. */
const maxRead = 1_048_576;

/** `previous`: of the run before the present one. */
export type LogOf = { pod: Pod; container: string; previous: boolean };

/** Chooses the most telling one of several pods of one template; undefined: there is none. Pure. */
export function chooseLog(pods: readonly Pod[], container: string): LogOf | undefined {
  const pod = pods.find((one) => !isReady(one)) ?? pods[0];
  if (pod === undefined) return undefined;
  const { initContainerStatuses, containerStatuses } = pod.status;
  const all = [...initContainerStatuses, ...containerStatuses];
  const own = containerStatuses.find(({ name }) => name === container);
  // A pod may be unready because of a container beside the sentinel's, or of one that comes before it.
  const ill = isIll(own) ? own : all.find(isIll);
  return { pod, container: ill?.name ?? container, previous: hasRestarted(ill ?? own) };
}

function isIll(status: ContainerStatus | undefined): boolean {
  if (status === undefined || status.ready === true) return false;
  const { terminated } = status.state ?? {};
  const hasRun = terminated != null || status.lastState?.terminated != null;
  return hasRun && terminated?.exitCode !== 0;
}

/** The run that has ended says why; the present one may have just begun. */
function hasRestarted(status: ContainerStatus | undefined): boolean {
  const { state, lastState } = status ?? {};
  return lastState?.terminated != null && state?.terminated == null && status?.ready !== true;
}

/** Reads the log; the part that came until the signal ended the call counts. */
export function readPodLog(
  cluster: Pick<Cluster, "readEnd">,
  of: LogOf,
  call: LogCall,
): Promise<LogTail> {
  return reachEnd(call, (asked) => readOnce(cluster, of, asked));
}

async function readOnce(
  cluster: Pick<Cluster, "readEnd">,
  of: LogOf,
  call: LogCall,
): Promise<LogPart> {
  const answer = await ask(cluster, of, call);
  // The run before may have been cleared away.
  const again = answer.status === 400 && of.previous;
  const last = again ? await ask(cluster, { ...of, previous: false }, call) : answer;
  return { tail: toTail(last), stop: last.stop };
}

function ask(
  cluster: Pick<Cluster, "readEnd">,
  { pod, container, previous }: LogOf,
  { lines, signal }: LogCall,
) {
  const query = new URLSearchParams({
    container,
    tailLines: String(lines),
    limitBytes: String(maxRead),
    ...(previous && { previous: "true" }),
  });
  const limits = { keepBytes: maxRawLog, maxBytes: maxRead };
  return cluster.readEnd({ path: `${pathOf(pod)}/log?${query}`, signal, ...limits });
}

function toTail({ status, text }: { status: number; text: string }): LogTail {
  if (status === 200) return { text };
  if (status === 404) return { absent: "its pod is not there any more" };
  const words = messageOf(parseJson(Buffer.from(text)));
  if (status === 403) return { absent: `no right to read logs (get pods/log): ${words}` };
  return { absent: words || `the API server answered ${status}` };
}
