/** Which pods are of a Deployment's present template, and which of an earlier one. Pure. */
import type { Owned, Pod, ReplicaSet, Workload } from "./schemas.ts";

export type Generations = { present: readonly Pod[]; earlier: readonly Pod[] };

export const noPods: Generations = { present: [], earlier: [] };

const revision = "deployment.kubernetes.io/revision";

/** By who owns them: labels and images may be those of others' pods too, and a policy may rewrite an image. */
export function splitPods(
  { metadata }: Pick<Workload, "metadata">,
  replicaSets: readonly ReplicaSet[],
  pods: readonly Pod[],
): Generations {
  const own = replicaSets.filter((set) => isOwnedBy(set, metadata.uid));
  const revisionOf = (set: ReplicaSet) => Number(set.metadata.annotations[revision] ?? 0);
  const newest = own.reduce<ReplicaSet | undefined>(
    (best, set) => (best === undefined || revisionOf(set) > revisionOf(best) ? set : best),
    undefined,
  );
  const podsOf = (sets: readonly ReplicaSet[]) =>
    pods.filter((pod) => sets.some((set) => isOwnedBy(pod, set.metadata.uid)));
  return {
    present: newest === undefined ? [] : podsOf([newest]),
    earlier: podsOf(own.filter((set) => set !== newest)),
  };
}

function isOwnedBy({ metadata }: Owned, uid: string): boolean {
  return metadata.ownerReferences.some((owner) => owner.controller === true && owner.uid === uid);
}
