/** What a controller of StatefulSets and DaemonSets writes: revisions of templates, pods, the status of a set. */
import { randomUUID } from "node:crypto";
import { hashOf } from "./deployment-controller.ts";
import { isEnding, isReady, now } from "./kubelet.ts";
import type { KubeObject } from "./objects.ts";
import { creating } from "./pod-states.ts";

/** Of pods, and of a DaemonSet's revisions. */
export const hashLabel = "controller-revision-hash";

/** A StatefulSet's pods name the revision itself, a DaemonSet's only its hash. */
export function labelOf({ kind, metadata }: KubeObject, hash: string): string {
  return kind === "DaemonSet" ? hash : `${metadata.name}-${hash}`;
}

export function revisionOf({ revision = 0 }: KubeObject): number {
  return revision;
}

function ownerOf({ apiVersion, kind, metadata: { name, uid } }: KubeObject) {
  return [{ apiVersion, kind, name, uid, controller: true }];
}

export function buildRevision(set: KubeObject, revision: number): KubeObject {
  const hash = hashOf(set.spec.template);
  const { name, namespace, uid } = set.metadata;
  const hashName = set.kind === "DaemonSet" ? hashLabel : "controller.kubernetes.io/hash";
  return {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      uid: `${uid}-${hash}`,
      resourceVersion: "",
      creationTimestamp: now(),
      labels: { ...set.spec.template.metadata?.labels, [hashName]: hash },
      ownerReferences: ownerOf(set),
    },
    revision,
    data: { spec: { template: { ...structuredClone(set.spec.template), $patch: "replace" } } },
  };
}

export function buildPod(
  set: KubeObject,
  {
    name,
    template,
    hash,
    node,
  }: { name: string; template: KubeObject["spec"]; hash: string; node?: string },
): KubeObject {
  const { $patch, ...of } = structuredClone(template);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: set.metadata.namespace,
      uid: randomUUID(),
      resourceVersion: "",
      creationTimestamp: now(),
      labels: { ...of.metadata?.labels, [hashLabel]: hash },
      ownerReferences: ownerOf(set),
    },
    spec: { ...of.spec, ...(node !== undefined && { nodeName: node }) },
    status: creating,
  };
}

/** Counts that are 0 are absent, as in Kubernetes, but for those that have to be there. */
function withoutZeros(counts: Record<string, number>, kept: readonly string[]) {
  return Object.fromEntries(
    Object.entries(counts).filter(([name, count]) => count > 0 || kept.includes(name)),
  );
}

export function statusOfStateful(
  { metadata, spec, status }: KubeObject,
  pods: readonly KubeObject[],
  update: string,
) {
  const living = pods.filter((pod) => !isEnding(pod));
  const current: string = status?.currentRevision ?? update;
  const of = (hash: string) =>
    living.filter((pod) => pod.metadata.labels?.[hashLabel] === hash).length;
  const readyCount = living.filter(isReady).length;
  // Never with OnDelete, in which the revision of the start stays the current one.
  const isDone =
    spec.updateStrategy?.type !== "OnDelete" &&
    of(update) === spec.replicas &&
    readyCount === spec.replicas;
  const counts = {
    replicas: pods.length,
    readyReplicas: readyCount,
    availableReplicas: readyCount,
    currentReplicas: of(isDone ? update : current),
    updatedReplicas: of(update),
  };
  return {
    ...withoutZeros(counts, ["replicas", "availableReplicas"]),
    observedGeneration: metadata.generation,
    currentRevision: isDone ? update : current,
    updateRevision: update,
    collisionCount: 0,
  };
}

export function statusOfDaemons(
  { metadata }: KubeObject,
  pods: readonly KubeObject[],
  { update, wanted }: { update: string; wanted: number },
) {
  const readyCount = pods.filter((pod) => isReady(pod) && !isEnding(pod)).length;
  const counts = {
    currentNumberScheduled: pods.length,
    desiredNumberScheduled: wanted,
    numberAvailable: readyCount,
    numberMisscheduled: 0,
    numberReady: readyCount,
    numberUnavailable: wanted - readyCount,
    updatedNumberScheduled: pods.filter(({ metadata: of }) => of.labels?.[hashLabel] === update)
      .length,
  };
  const kept = [
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberMisscheduled",
    "numberReady",
  ];
  return { ...withoutZeros(counts, kept), observedGeneration: metadata.generation };
}
