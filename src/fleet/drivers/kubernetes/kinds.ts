/** How workloads differ: in what they are called, how they count their pods, and which container is the sentinel's. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import type { Workload, WorkloadKind } from "./schemas.ts";

const names: Record<WorkloadKind, string> = {
  deployments: "Deployment",
  statefulsets: "StatefulSet",
  daemonsets: "DaemonSet",
};

/** As the API server and people call it. */
export function nameOfKind(kind: WorkloadKind): string {
  return names[kind];
}

/** Whether each of its pods is a sentinel: the set replaces none by itself, so that each is replaced by an order. */
export function hasMembers({ resource, spec }: Workload): boolean {
  return resource !== "deployments" && spec.updateStrategy?.type === "OnDelete";
}

/** Of its pods: how many there should be and are, of the present template, and able to serve. */
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
