/** A Deployment as a sentinel: orders to it, and what became of them. */
import type { ReasonCode } from "#fleet/contract.ts";
import {
  type ApplyResult,
  type DeployOrder,
  type DriverCall,
  type SentinelObservation,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import type { Calls, Place } from "./calls.ts";
import { chooseContainer } from "./container.ts";
import { imageOf, isComplete, judgeDeployment, type Verdict } from "./judge.ts";
import { type DeployRecord, readRecord, recordKey, withRecord } from "./record.ts";
import type { Pod, Workload } from "./schemas.ts";

export type DeploymentParts = {
  calls: Calls;
  /** The container's name; empty: the workload says it, or has only one. */
  container: string;
  readyTimeoutMs: number;
  nowMs: () => number;
};

type Order = Omit<DeployOrder, "sentinelId">;

const key = recordKey();
/** Somebody else may change the workload between our read and our change, and again. */
const mostTries = 3;

export function createDeployments(parts: DeploymentParts) {
  const { calls } = parts;

  const change = async (
    place: Place,
    workload: Workload,
    { record, image, call }: { record: DeployRecord; image: string; call?: DriverCall },
  ) =>
    calls.apply(
      {
        place,
        resourceVersion: workload.metadata.resourceVersion,
        annotations: withRecord(workload.metadata.annotations, key, record),
        container: nameOf(workload, parts),
        image,
      },
      call,
    );

  const apply = async (place: Place, order: Order, call: DriverCall): Promise<ApplyResult> => {
    for (let tries = 0; tries < mostTries; tries++) {
      const workload = await calls.read(place, call.signal);
      if (workload === undefined) return { failure: gone };
      const { metadata } = workload;
      const before = readRecord(metadata.annotations, key);
      if (before?.id === order.deployId) return {};
      const obstacle = findObstacle(workload, parts);
      if (obstacle !== undefined) return { failure: obstacle };
      const record = recordOf(workload, before, { ...order, parts });
      const changed = await change(place, workload, { record, image: order.image, call });
      if (changed.kind === "done") return {};
      if (changed.kind === "refused") return { failure: changed.reason };
    }
    throw new UnreachableError("unreachable: the workload changes all the time");
  };

  const observe = async (
    place: Place,
    order: Order,
    { signal }: DriverCall,
  ): Promise<SentinelObservation> => {
    const workload = await calls.read(place, signal);
    if (workload === undefined) return { status: "failed", reason: gone };
    const record = readRecord(workload.metadata.annotations, key);
    const container = nameOf(workload, parts);
    if (record?.id !== order.deployId) {
      const running_image = await runningImage(workload, { record, container, signal });
      return { status: "progressing", isOrdered: false, running_image };
    }
    const pods = isComplete(workload) ? [] : await calls.pods(workload, signal);
    if (record.failed !== undefined) return observeFailed(workload, record, { container, pods });
    const verdict = judge(workload, record, { container, pods });
    const serving = servingImage(workload, { record, container, pods });
    if (verdict.status === "failed" && verdict.isForeign !== true) {
      await restore(place, workload, { record, reason: verdict.reason });
      return { ...progressing(verdict.reason), running_image: serving };
    }
    return { ...observationOf(verdict), running_image: serving };
  };

  const judge = (
    workload: Workload,
    { image, atMs }: DeployRecord,
    { container, pods }: { container: string; pods: readonly Pod[] },
  ): Verdict => {
    const untilMs = atMs + timeToJudge(parts.readyTimeoutMs);
    return judgeDeployment({ workload, pods, container, image, untilMs, nowMs: parts.nowMs() });
  };

  /** The reason is kept with the image that comes back: whoever looks next knows it. */
  const restore = async (
    place: Place,
    workload: Workload,
    { record, reason }: { record: DeployRecord; reason: string },
  ): Promise<void> => {
    const failed = { ...record, failed: reason };
    // If it has changed meanwhile the next look judges it anew.
    await change(place, workload, { record: failed, image: record.previous });
  };

  const runningImage = async (
    workload: Workload,
    { signal, ...of }: { record: DeployRecord | undefined; container: string; signal?: AbortSignal | undefined },
  ): Promise<string> => {
    const pods = isComplete(workload) ? [] : await calls.pods(workload, signal);
    return servingImage(workload, { ...of, pods });
  };

  /** Ends what nobody asks about any more: its process has ended, or its deadline came first. */
  const finish = async (place: Place, workload: Workload): Promise<void> => {
    const record = readRecord(workload.metadata.annotations, key);
    if (record === undefined || record.failed !== undefined || isComplete(workload)) return;
    if (parts.nowMs() < record.atMs + parts.readyTimeoutMs) return;
    await observe(place, { image: record.image, deployId: record.id }, {});
  };

  return { apply, observe, finish };
}

/** Before the deploy's own deadline, after which nobody looks any more. */
function timeToJudge(readyTimeoutMs: number): number {
  return readyTimeoutMs - Math.min(5_000, readyTimeoutMs / 10);
}

const gone = `${"target_gone" satisfies ReasonCode}: there is no such Deployment`;

function nameOf(workload: Workload, { container }: Pick<DeploymentParts, "container">): string {
  return chooseContainer(workload, container) ?? "";
}

function findObstacle(workload: Workload, parts: DeploymentParts): string | undefined {
  const code: ReasonCode = "config_invalid";
  if (workload.metadata.deletionTimestamp !== "") return gone;
  if (workload.spec.paused === true) return `${code}: the Deployment is paused`;
  if (chooseContainer(workload, parts.container) !== undefined) return undefined;
  return `${code}: which container? Set fleet.kubernetes.container, or kubectl.kubernetes.io/default-container`;
}

/** An image that has not proven itself is not what comes back. */
function recordOf(
  workload: Workload,
  before: DeployRecord | undefined,
  { image, deployId, parts }: Order & { parts: DeploymentParts },
): DeployRecord {
  const present = imageOf(workload, nameOf(workload, parts));
  const isUnproven = before?.image === present && before.failed === undefined && !isComplete(workload);
  const previous = isUnproven ? before.previous : present;
  return { id: deployId, image, previous, atMs: parts.nowMs() };
}

type Seen = { record: DeployRecord | undefined; container: string; pods: readonly Pod[] };

/** The image that answers requests: until all of the new one are there it is the earlier one. */
function servingImage(workload: Workload, { record, container, pods }: Seen): string {
  const present = imageOf(workload, container);
  if (isComplete(workload)) return present;
  const ready = pods.flatMap((pod) => {
    const isReady = pod.status.conditions.some(({ type, status }) => type === "Ready" && status === "True");
    return isReady ? (pod.spec.containers.find(({ name }) => name === container)?.image ?? []) : [];
  });
  return ready.find((image) => image !== present) ?? ready[0] ?? record?.previous ?? present;
}

function observeFailed(
  workload: Workload,
  record: DeployRecord,
  { container, pods }: { container: string; pods: readonly Pod[] },
): SentinelObservation {
  const running_image = servingImage(workload, { record, container, pods });
  const reason = record.failed ?? "";
  const isBack = isComplete(workload) || imageOf(workload, container) !== record.previous;
  if (!isBack && record.previous !== record.image) return { ...progressing(reason), running_image };
  return { status: "failed", reason, isOrdered: true, running_image };
}

function progressing(reason: string): SentinelObservation {
  return { status: "progressing", reason, isOrdered: true, deniesReady: true };
}

function observationOf(verdict: Verdict): SentinelObservation {
  if (verdict.status === "progressing") {
    return { status: "progressing", reason: verdict.reason, isOrdered: true, deniesReady: true };
  }
  const reason = verdict.status === "failed" ? verdict.reason : undefined;
  return { status: verdict.status, reason, isOrdered: true };
}
