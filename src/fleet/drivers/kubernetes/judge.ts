/** Evaluates if a workload, or one pod, runs the ordered image, by the answers of the API server. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import { isOtherContent } from "#kernel/image-reference.ts";
import { cleanWords } from "#kernel/log.ts";
import { worstFault } from "./judge-pod.ts";
import { countsOf } from "./kinds.ts";
import { type ImageOwner, isAdmitted, policyReason } from "./owners.ts";
import type { Condition, Pod, Workload } from "./schemas.ts";

export type Verdict =
  | { status: "ready" }
  | { status: "progressing"; reason?: string }
  /** `isForeign`: somebody else has changed the workload, who has the say now. */
  | { status: "failed"; reason: string; isForeign?: boolean };

export type Judged = {
  workload: Workload;
  /** The pods of the present template. */
  pods: readonly Pod[];
  container: string;
  image: string;
  /** The other owners that have set the image. */
  owners: readonly ImageOwner[];
  /** The times of the order and of its deadline, and now (Unix ms). */
  sinceMs: number;
  untilMs: number;
  nowMs: number;
  /** The times for which its pods have to be ready, and an image with a digest may be missing. */
  stableMs: number;
  imageWaitMs?: number;
};

export function gradeWorkload(judged: Judged): Verdict {
  const { workload, pods, sinceMs, nowMs, untilMs } = judged;
  const exchanged = gradeImages(judged);
  if (exchanged !== undefined) return exchanged;
  // Before the controller has seen the change, the status is that of the one before.
  if (!isSeen(workload)) return { status: "progressing" };
  if (isComplete(workload)) return gradeComplete(judged);
  const fault = worstFault(pods, sinceMs, judged);
  if (fault?.isFinal) return failed(fault.reason);
  const reason = fault?.reason ?? faultOfReplicas(workload);
  if (isOverdue(workload, sinceMs) || nowMs >= untilMs) return failed(reason ?? notInTime);
  return { status: "progressing", ...(reason !== undefined && { reason }) };
}

/** undefined: template and pods have the image as it was applied, or as the API server has made it. */
function gradeImages({ workload, image, container, owners, pods }: Judged): Verdict | undefined {
  const present = imageOf(workload, container);
  if (!isAdmitted(present, { applied: image, owners })) {
    const isOfPolicy = owners.length === 0 && present !== "";
    return isOfPolicy ? failed(policyReason(present, image)) : setBack(owners);
  }
  const exchanged = isSeen(workload) ? findExchanged(pods, container, image) : undefined;
  return exchanged === undefined ? undefined : failed(policyReason(exchanged, image));
}

/** The image that a policy has given a pod in place of its template's. */
export function findExchanged(
  pods: readonly Pod[],
  container: string,
  ordered: string,
): string | undefined {
  return pods
    .map((pod) => pod.spec.containers.find(({ name }) => name === container)?.image ?? "")
    .find((image) => isOtherContent(image, ordered));
}

/** A container without a probe is ready as soon as it runs, and may end right after. */
function gradeComplete({ workload, pods, stableMs, nowMs, untilMs }: Judged): Verdict {
  const isCounted = workload.spec.minReadySeconds > 0;
  // One by one: a cluster may list more pods than a call may have arguments.
  const latestMs = pods.reduce((latest, pod) => Math.max(latest, readySinceMs(pod)), 0);
  const stableAtMs = latestMs + stableMs;
  if (isCounted || stableMs === 0 || nowMs >= stableAtMs) return { status: "ready" };
  return nowMs >= untilMs ? failed(notInTime) : { status: "progressing" };
}

/** Unix ms; 0: it is not known. */
export function readySinceMs({ status }: Pod): number {
  return Date.parse(readyCondition(status.conditions)?.lastTransitionTime ?? "") || 0;
}

export function isReady({ status }: Pod): boolean {
  return readyCondition(status.conditions) !== undefined;
}

function readyCondition(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(({ type, status }) => type === "Ready" && status === "True");
}

export const notInTime = `${"progress_deadline" satisfies ReasonCode}: its pods were not ready in time`;

export function imageOf(
  { spec }: { spec: Pick<Workload["spec"], "template"> },
  container: string,
): string {
  return spec.template.spec.containers.find(({ name }) => name === container)?.image ?? "";
}

/** All replicas are of the present template and available, none of an earlier one. Ending pods are not counted. */
export function isComplete(workload: Workload): boolean {
  if (!isSeen(workload)) return false;
  const { wanted, present, updated, available } = countsOf(workload);
  return [present, updated, available].every((have) => have === wanted);
}

/** True if its controller has seen its last change. */
export function isSeen({ metadata, status }: Workload): boolean {
  return status.observedGeneration >= metadata.generation;
}

/** True if as many of its pods serve as its strategy asks for, of whatever image. */
export function isAvailable(workload: Workload): boolean {
  if (workload.resource === "deployments") {
    return conditionOf(workload, "Available")?.status === "True";
  }
  const { wanted, available } = countsOf(workload);
  // A set ends one pod at a time.
  return available >= Math.max(Math.min(wanted, 1), wanted - 1);
}

/** `owners`: who has set the image that is there now. */
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
  return `${code}: ${cleanWords(condition.message, 200)}`;
}

/** A verdict from before the order stays for a while, and even for good when nothing has to change. */
function isOverdue(workload: Workload, sinceMs: number): boolean {
  const progress = conditionOf(workload, "Progressing");
  const isLate = progress?.status === "False" && progress.reason === "ProgressDeadlineExceeded";
  // Whole seconds, by the controller's clock.
  return isLate && !(Date.parse(progress.lastUpdateTime) < sinceMs - 1_000);
}

function failed(reason: string): Verdict {
  return { status: "failed", reason };
}
