/** Whether a Deployment runs the ordered image, by what the API server says. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import { cleanText } from "#kernel/clean-text.ts";
import { worstFault } from "./judge-pod.ts";
import type { ImageOwner } from "./owners.ts";
import type { Condition, Pod, Workload } from "./schemas.ts";

export type Verdict =
  | { status: "ready" }
  | { status: "progressing"; reason?: string }
  /** `isForeign`: somebody else has changed the workload, who has the say now. */
  | { status: "failed"; reason: string; isForeign?: boolean };

export type Judged = {
  workload: Workload;
  /** Of the workload's selector, those that are about to end left out. */
  pods: readonly Pod[];
  container: string;
  image: string;
  /** Who else has set the image. */
  owners: readonly ImageOwner[];
  /** Until when it has to be ready (Unix ms), and now. */
  untilMs: number;
  nowMs: number;
};

export function judgeDeployment(judged: Judged): Verdict {
  const { workload, image, container, nowMs, untilMs } = judged;
  // Before the controller has seen the change, the status is that of the one before.
  if (workload.status.observedGeneration < workload.metadata.generation) {
    return { status: "progressing" };
  }
  if (imageOf(workload, container) !== image) return setBack(judged.owners);
  if (isComplete(workload)) return { status: "ready" };
  const fault = worstFault(ofImage(judged));
  if (fault?.isFinal) return failed(fault.reason);
  const reason = fault?.reason ?? faultOfReplicas(workload);
  if (isOverdue(workload) || nowMs >= untilMs) return failed(reason ?? notInTime);
  return { status: "progressing", ...(reason !== undefined && { reason }) };
}

const notInTime = `${"progress_deadline" satisfies ReasonCode}: its pods were not ready in time`;

/** The image of the template's container; "" when it has none of this name. */
export function imageOf(
  { spec }: { spec: Pick<Workload["spec"], "template"> },
  container: string,
): string {
  return spec.template.spec.containers.find(({ name }) => name === container)?.image ?? "";
}

/** Every replica is of the present template and available, and none of an earlier one is left. */
export function isComplete({ metadata, spec, status }: Workload): boolean {
  if (status.observedGeneration < metadata.generation) return false;
  const wanted = spec.replicas ?? 1;
  const { replicas, updatedReplicas, availableReplicas } = status;
  return [replicas, updatedReplicas, availableReplicas].every((have) => have === wanted);
}

/** Whether as many replicas serve as its strategy asks for, of whatever image. */
export function isAvailable(workload: Workload): boolean {
  return conditionOf(workload, "Available")?.status === "True";
}

/** The pods of the ordered image: an earlier attempt's have been ended with their template. */
function ofImage({ pods, container, image }: Judged): Pod[] {
  return pods.filter(({ spec }) =>
    spec.containers.some((one) => one.name === container && one.image === image),
  );
}

function setBack(owners: readonly ImageOwner[]): Verdict {
  const by = owners[0] === undefined ? "" : ` by ${owners[0].manager}`;
  const code: ReasonCode = "conflict";
  return { status: "failed", reason: `${code}: the image was changed${by}`, isForeign: true };
}

function conditionOf({ status }: Workload, type: string): Condition | undefined {
  return status.conditions.find((one) => one.type === type);
}

/** A quota or an admission controller that admits no pod. */
function faultOfReplicas(workload: Workload): string | undefined {
  const condition = conditionOf(workload, "ReplicaFailure");
  if (condition?.status !== "True") return undefined;
  const code: ReasonCode = /exceeded quota/i.test(condition.message)
    ? "quota_exceeded"
    : "config_invalid";
  return `${code}: ${cleanText(condition.message, 200)}`;
}

function isOverdue(workload: Workload): boolean {
  const progress = conditionOf(workload, "Progressing");
  return progress?.status === "False" && progress.reason === "ProgressDeadlineExceeded";
}

function failed(reason: string): Verdict {
  return { status: "failed", reason };
}
