/** The differences between workloads: their names, their counts of pods, and the container of the sentinel. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import type { Workload, WorkloadKind } from "./schemas.ts";

const names: Record<WorkloadKind, string> = {
  deployments: "Deployment",
  statefulsets: "StatefulSet",
  daemonsets: "DaemonSet",
};

/** Returns the name that the API server and people use. */
export function nameOfKind(kind: WorkloadKind): string {
  return names[kind];
}

/** True if each of its pods is a sentinel: the set replaces none by itself, so that each is replaced by an order. */
export function hasMembers({ resource, spec }: Workload): boolean {
  return resource !== "deployments" && spec.updateStrategy?.type === "OnDelete";
}

/** The numbers of its pods: desired, present, of the present template, and able to serve. */
export type Counts = { wanted: number; present: number; updated: number; available: number };

export function countsOf({ resource, spec, status }: Workload): Counts {
  const { replicas, updatedReplicas, availableReplicas, readyReplicas } = status;
  if (resource === "daemonsets") {
    return {
      wanted: status.desiredNumberScheduled,
      present: status.currentNumberScheduled,
      updated: status.updatedNumberScheduled,
      available: status.numberAvailable,
    };
  }
  const counts = { wanted: spec.replicas ?? 1, present: replicas, updated: updatedReplicas };
  if (resource === "deployments") return { ...counts, available: availableReplicas };
  // A StatefulSet of before Kubernetes 1.22 has no minReadySeconds, and no count of available ones.
  const available = spec.minReadySeconds > 0 ? availableReplicas : readyReplicas;
  return { ...counts, available };
}

const defaultContainer = "kubectl.kubernetes.io/default-container";

/** The container whose image is the sentinel's; undefined: it cannot be told. `wanted` empty: the workload says it. */
export function chooseContainer({ spec }: Workload, wanted: string): string | undefined {
  const names = spec.template.spec.containers.map(({ name }) => name);
  const named = wanted || spec.template.metadata?.annotations[defaultContainer];
  if (named) return names.includes(named) ? named : undefined;
  return names.length === 1 ? names[0] : undefined;
}

export const unknownContainer = `${"config_invalid" satisfies ReasonCode}: which container? Set fleet.kubernetes.container, or kubectl.kubernetes.io/default-container`;
