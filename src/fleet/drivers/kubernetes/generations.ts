/** Separates the pods of a workload's present template from those of earlier ones. Pure. */
import type { Owned, Pod, ReplicaSet, Revision, Workload } from "./schemas.ts";

export type Generations = { present: readonly Pod[]; earlier: readonly Pod[] };

export const noPods: Generations = { present: [], earlier: [] };

/** False of a pod that is about to end, or has ended for good: its controller counts it no more. */
export function lasts({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp === "" && !["Failed", "Succeeded"].includes(status.phase);
}

const revision = "deployment.kubernetes.io/revision";
/** The label of a set's pods, and of the revisions that the set stores of its templates. */
const revisionHash = "controller-revision-hash";

/** The pods of a Deployment by owner: others may have the labels and images, and a policy may rewrite an image. */
export function splitPods(
  { metadata }: Pick<Workload, "metadata">,
  replicaSets: readonly ReplicaSet[],
  pods: readonly Pod[],
): Generations {
  const own = ownedBy(metadata.uid, replicaSets);
  const newest = newestOf(own, (set) => Number(set.metadata.annotations[revision] ?? 0));
  const others = own.filter((set) => set !== newest).map((set) => set.metadata.uid);
  return {
    present: newest === undefined ? [] : ownedBy(newest.metadata.uid, pods),
    earlier: ownedByAny(new Set(others), pods),
  };
}

/** The pods of a set, by the revision that they were made of. */
export function splitPodsOfSet(
  { metadata, resource, status }: Workload,
  revisions: readonly Revision[],
  pods: readonly Pod[],
): Generations {
  const newest = newestOf(ownedBy(metadata.uid, revisions), (one) => one.revision);
  const present =
    resource === "statefulsets" ? status.updateRevision : newest && hashOf(newest.metadata);
  const own = ownedBy(metadata.uid, pods);
  return {
    present: own.filter((pod) => hashOf(pod.metadata) === present),
    earlier: own.filter((pod) => hashOf(pod.metadata) !== present),
  };
}

/** The image of the template that a pod of a set was made of, whatever a policy has made of it in the pod. */
export function imageMadeOf(
  pod: Pod,
  { container, revisions }: { container: string; revisions: readonly Revision[] },
): string {
  const hash = hashOf(pod.metadata);
  const made = revisions.find(({ metadata }) =>
    [metadata.name, hashOf(metadata)].some((name) => name === hash && name !== undefined),
  );
  const { containers } = made?.data?.spec.template.spec ?? pod.spec;
  return containers.find(({ name }) => name === container)?.image ?? "";
}

export function ownedBy<Item extends Owned>(uid: string, items: readonly Item[]): Item[] {
  return ownedByAny(new Set([uid]), items);
}

function ownedByAny<Item extends Owned>(uids: ReadonlySet<string>, items: readonly Item[]): Item[] {
  return items.filter(({ metadata }) =>
    metadata.ownerReferences.some((owner) => owner.controller === true && uids.has(owner.uid)),
  );
}

function hashOf({ labels }: Pod["metadata"]): string | undefined {
  return labels[revisionHash];
}

function newestOf<Item>(items: readonly Item[], revisionOf: (item: Item) => number) {
  return items.reduce<Item | undefined>(
    (best, one) => (best === undefined || revisionOf(one) > revisionOf(best) ? one : best),
    undefined,
  );
}
