/** The end of a pod, by an eviction (https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/) or without. */
import { cleanWords } from "#kernel/log-text.ts";
import { type Cluster, type ClusterAnswer, messageOf } from "./client.ts";
import { type Pod, StatusBody } from "./schemas.ts";

/** `gone`: it is another one, or none, by now. `forbidden`: not now, or not at all, with a reason. */
export type PodEnd = { kind: "ending" } | { kind: "gone" } | { kind: "forbidden"; words: string };

/** The second one is for servers before Kubernetes 1.22, which do not know the first. */
const versions = ["policy/v1", "policy/v1beta1"];

/** Asks for a pod's end, which a PodDisruptionBudget may forbid for now. */
export async function evictPod(
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
export async function removePod(
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
  // Of a budget it is the cause that names it.
  const [cause] = StatusBody.safeParse(body).data?.details?.causes ?? [];
  const words = cause === undefined ? messageOf(body) : cleanWords(cause.message, 300);
  return { kind: "forbidden", words: words || `the API server answered ${status}` };
}
