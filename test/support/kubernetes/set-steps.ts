/**
 * What a controller does next with the pods of a set, as pkg/controller/statefulset/stateful_set_control.go and
 * pkg/controller/daemon/update.go of Kubernetes have it. Pure.
 */
import { randomUUID } from "node:crypto";
import { isEnding, isReady } from "./kubelet.ts";
import type { KubeObject } from "./objects.ts";
import { hashLabel } from "./set-objects.ts";

/** Pods to be made, by their revision, and pods to be ended. */
export type SetSteps = { make: { name: string; hash: string; node?: string }[]; end: KubeObject[] };

const isWell = (pod: KubeObject | undefined) => pod !== undefined && isReady(pod) && !isEnding(pod);
const hashIn = ({ metadata }: KubeObject) => metadata.labels?.[hashLabel];
const isOnDelete = ({ spec }: KubeObject) => spec.updateStrategy?.type === "OnDelete";

/**
 * An OrderedReady StatefulSet does nothing while one of its pods is not ready: neither is the next one made, nor that
 * one replaced when its template is another one by now.
 */
export function stepsOfStateful(
  set: KubeObject,
  pods: readonly KubeObject[],
  update: string,
): SetSteps {
  const isOrdered = set.spec.podManagementPolicy !== "Parallel";
  const start: number = set.spec.ordinals?.start ?? 0;
  const members = Array.from({ length: set.spec.replicas ?? 1 }, (_, n) => {
    const name = `${set.metadata.name}-${start + n}`;
    const pod = pods.find(({ metadata }) => metadata.name === name);
    return { name, pod, hash: hashFor(set, start + n, update) };
  });
  const unwell = members.findIndex(({ pod }) => !isWell(pod));
  const reached = isOrdered && unwell >= 0 ? members.slice(0, unwell + 1) : members;
  const make = reached.filter(({ pod }) => pod === undefined);
  if (isOrdered && unwell >= 0) return { make, end: [] };
  const [surplus] = pods
    .filter((pod) => !members.some((member) => member.pod === pod))
    .toSorted((one, other) => (one.metadata.name < other.metadata.name ? 1 : -1));
  if (surplus !== undefined) return { make, end: [surplus] };
  return { make, end: isOnDelete(set) ? [] : nextReplaced(members) };
}

type Member = { name: string; pod: KubeObject | undefined; hash: string };

/** From the highest on, one after the other; one that is of its revision has to be ready first. */
function nextReplaced(members: readonly Member[]): KubeObject[] {
  for (const { pod, hash } of members.toReversed()) {
    if (pod !== undefined && hashIn(pod) !== hash) return [pod];
    if (!isWell(pod)) return [];
  }
  return [];
}

/** Of which revision a pod of this ordinal is made. */
function hashFor(set: KubeObject, ordinal: number, update: string): string {
  const partition = set.spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  const isOld = !isOnDelete(set) && ordinal < partition;
  return isOld ? (set.status?.currentRevision ?? update) : update;
}

export function stepsOfDaemons(
  set: KubeObject,
  pods: readonly KubeObject[],
  { update, nodes }: { update: string; nodes: readonly string[] },
): SetSteps {
  const make = nodes
    .filter((node) => !pods.some(({ spec }) => spec.nodeName === node))
    .map((node) => ({
      name: `${set.metadata.name}-${randomUUID().slice(0, 5)}`,
      hash: update,
      node,
    }));
  if (isOnDelete(set)) return { make, end: [] };
  const old = pods.filter((pod) => hashIn(pod) !== update);
  const isWhole = make.length === 0 && pods.every(isWell);
  return { make, end: isWhole ? old.slice(0, 1) : old.filter((pod) => !isReady(pod)) };
}
