/** What a controller manager does with Deployments, at a fraction of its time. */
import { createHash, randomUUID } from "node:crypto";
import { createTimers, imagesOf, isEnded, isEnding, isOwnedBy, isReady, now } from "./kubelet.ts";
import type { KubeObject, Objects } from "./objects.ts";
import { creating } from "./pod-states.ts";

/** What an admission webhook makes of an image, of a workload's template or of a pod. */
export type Admit = (image: string, of: "workload" | "pod") => string;

export type Pace = {
  /** Until the controller has seen a change. */
  observeMs: number;
  /** Whether pods of an image are refused by a quota. */
  isOverQuota: (image: string) => boolean;
  admit: Admit;
};

export function startDeploymentController(objects: Objects, pace: Pace) {
  const { later, stop } = createTimers();
  const overdue = new Set<string>();

  const podsOf = ({ metadata }: KubeObject) =>
    objects.list(
      "pods",
      metadata.namespace,
      (pod) => pod.metadata.labels?.["owner"] === metadata.name && !isEnding(pod) && !isEnded(pod),
    );

  const live = ({ metadata }: KubeObject) => objects.get({ resource: "deployments", ...metadata });

  /** The newest is the one of the present template. */
  const renewReplicaSet = (deployment: KubeObject, hash: string): void => {
    const { namespace, uid } = deployment.metadata;
    const all = objects.list("replicasets", namespace, (set) => isOwnedBy(set, uid));
    const newest = Math.max(0, ...all.map(revisionOf));
    const own = all.find(({ metadata }) => metadata.labels?.["pod-template-hash"] === hash);
    if (own !== undefined && revisionOf(own) === newest) return;
    objects.put("replicasets", buildReplicaSet(deployment, { hash, revision: newest + 1 }));
  };

  const addPod = (deployment: KubeObject, hash: string): void => {
    objects.put("pods", admitPod(buildPod(deployment, hash), pace.admit));
  };

  const remove = (pods: readonly KubeObject[]) => {
    for (const { metadata } of pods) objects.remove({ resource: "pods", ...metadata });
  };

  /** New pods beside the old ones; those end once all of the new are ready. */
  const reconcile = (of: KubeObject): void => {
    const deployment = live(of);
    if (deployment === undefined || deployment.spec.paused === true) return;
    const hash = hashOf(deployment.spec.template);
    const wanted: number = deployment.spec.replicas ?? 1;
    const [own, others] = partition(podsOf(deployment), hash);
    renewReplicaSet(deployment, hash);
    const isRefused = pace.isOverQuota(imagesOf(deployment.spec.template)[0] ?? "");
    if (!isRefused) for (let n = own.length; n < wanted; n++) addPod(deployment, hash);
    remove(own.slice(wanted));
    // A pod that never became ready is ended with its template.
    const isDone = own.length >= wanted && own.every(isReady);
    remove(others.filter((pod) => isDone || !isReady(pod)));
    writeStatus(deployment, { hash, isRefused });
  };

  const writeStatus = (
    of: KubeObject,
    { hash, isRefused }: { hash: string; isRefused: boolean },
  ) => {
    const deployment = live(of);
    if (deployment === undefined) return;
    const status = statusOf(deployment, podsOf(deployment), {
      hash,
      isRefused,
      isOverdue: overdue.has(`${deployment.metadata.uid}/${deployment.metadata.generation}`),
    });
    if (JSON.stringify(status) === JSON.stringify(deployment.status)) return;
    objects.put("deployments", { ...deployment, status });
  };

  const ownerOf = ({ metadata: { namespace, labels } }: KubeObject) =>
    objects.get({ resource: "deployments", namespace, name: labels?.["owner"] ?? "" });

  /** What the controller removes itself does not end first. */
  const stopWatchingPods = objects.watch(0, ({ type, resource, object }) => {
    const isOthers = type === "MODIFIED" || (type === "DELETED" && isEnding(object));
    const owner = resource === "pods" && isOthers ? ownerOf(object) : undefined;
    if (owner !== undefined) reconcile(owner);
  });

  const stopWatching = objects.watch(0, ({ type, resource, object }) => {
    if (resource !== "deployments" || type === "DELETED") return;
    const { generation = 1, uid } = object.metadata;
    if (object.status?.observedGeneration === generation) return;
    later(pace.observeMs, () => reconcile(object));
    later((object.spec.progressDeadlineSeconds ?? 600) * 1_000, () => {
      overdue.add(`${uid}/${generation}`);
      reconcile(object);
    });
  });

  return () => {
    stopWatchingPods();
    stopWatching();
    stop();
  };
}

export function admitPod(pod: KubeObject, admit: Admit): KubeObject {
  for (const container of pod.spec.containers) container.image = admit(container.image, "pod");
  return pod;
}

export function hashOf(template: object): string {
  return createHash("sha256").update(JSON.stringify(template)).digest("hex").slice(0, 10);
}

/** Those of a template, and all others. */
function partition(pods: readonly KubeObject[], hash: string): [KubeObject[], KubeObject[]] {
  const isOwn = ({ metadata }: KubeObject) => metadata.labels?.["pod-template-hash"] === hash;
  return [pods.filter(isOwn), pods.filter((pod) => !isOwn(pod))];
}

function buildPod({ metadata, spec: { template } }: KubeObject, hash: string): KubeObject {
  const labels = { ...template.metadata?.labels, owner: metadata.name };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${metadata.name}-${hash}-${randomUUID().slice(0, 5)}`,
      namespace: metadata.namespace,
      uid: randomUUID(),
      resourceVersion: "",
      creationTimestamp: now(),
      labels: { ...labels, "pod-template-hash": hash },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: `${metadata.name}-${hash}`,
          uid: uidOf(metadata.uid, hash),
          controller: true,
        },
      ],
    },
    spec: structuredClone(template.spec),
    status: creating,
  };
}

const revisionName = "deployment.kubernetes.io/revision";

function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[revisionName]);
}

function uidOf(deployment: string, hash: string): string {
  return `${deployment}-${hash}`;
}

function buildReplicaSet(
  { metadata, spec: of }: KubeObject,
  { hash, revision }: { hash: string; revision: number },
): KubeObject {
  const labels = { ...of.template.metadata?.labels, "pod-template-hash": hash };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${metadata.name}-${hash}`,
      namespace: metadata.namespace,
      uid: uidOf(metadata.uid, hash),
      resourceVersion: "",
      creationTimestamp: now(),
      labels,
      annotations: { [revisionName]: String(revision) },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          name: metadata.name,
          uid: metadata.uid,
          controller: true,
        },
      ],
    },
    spec: { selector: { matchLabels: labels }, template: structuredClone(of.template) },
  };
}

/** Counts that are 0 are absent, as in Kubernetes. */
function statusOf(
  { metadata, spec, status: before }: KubeObject,
  pods: readonly KubeObject[],
  { hash, isRefused, isOverdue }: { hash: string; isRefused: boolean; isOverdue: boolean },
) {
  const wanted: number = spec.replicas ?? 1;
  const updated = pods.filter(({ metadata: of }) => of.labels?.["pod-template-hash"] === hash);
  const readyCount = pods.filter(isReady).length;
  const isComplete = updated.length === wanted && updated.every(isReady) && pods.length === wanted;
  const counts = {
    replicas: pods.length,
    updatedReplicas: updated.length,
    readyReplicas: readyCount,
    availableReplicas: readyCount,
    unavailableReplicas: Math.max(0, wanted - readyCount),
  };
  return {
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    observedGeneration: metadata.generation,
    conditions: [
      // As with the default strategy: a quarter of the replicas, rounded down, may be away.
      availability(readyCount >= wanted - Math.floor(wanted / 4)),
      isOverdue && !isComplete
        ? condition("Progressing", false, "ProgressDeadlineExceeded")
        : condition(
            "Progressing",
            true,
            isComplete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
          ),
      ...(isRefused
        ? [{ ...condition("ReplicaFailure", true, "FailedCreate"), message: quotaWords }]
        : []),
    ].map((one) => withTimes(one, before?.conditions)),
  };
}

const quotaWords = 'pods "gw-1" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2';

type Condition = { type: string; status: string; reason: string; message?: string };

function condition(type: string, is: boolean, reason: string): Condition {
  return { type, status: is ? "True" : "False", reason };
}

function availability(is: boolean): Condition {
  return condition("Available", is, `MinimumReplicas${is ? "Available" : "Unavailable"}`);
}

function withTimes(one: Condition, before: (Condition & { lastUpdateTime: string })[] = []) {
  const same = before.find(({ type, status, reason }) =>
    [type === one.type, status === one.status, reason === one.reason].every(Boolean),
  );
  const time = same?.lastUpdateTime ?? now();
  return { ...one, lastUpdateTime: time, lastTransitionTime: time };
}
