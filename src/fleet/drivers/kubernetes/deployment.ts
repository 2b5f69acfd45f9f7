/** A Deployment as a sentinel: orders to it, and what became of them. */
import type { ReasonCode } from "#fleet/contract.ts";
import {
  type ApplyResult,
  type DeployOrder,
  type DriverCall,
  type SentinelObservation,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import type { Calls, Changed, Place } from "./calls.ts";
import { chooseContainer } from "./container.ts";
import { imageOf, isComplete, judgeDeployment, type Verdict } from "./judge.ts";
import { ownersOfImage } from "./owners.ts";
import { type DeployRecord, readRecord, writeRecord } from "./record.ts";
import type { Pod, Workload } from "./schemas.ts";

export type DeploymentParts = {
  calls: Calls;
  /** The container's name; empty: the workload says it, or has only one. */
  container: string;
  fieldManager: string;
  /** Takes the image from those who apply it, too. */
  isForced: boolean;
  readyTimeoutMs: number;
  nowMs: () => number;
};

type Order = Omit<DeployOrder, "sentinelId">;

/** Somebody else may change the workload between our read and our change, and again. */
const mostTries = 3;

export function createDeployments(parts: DeploymentParts) {
  return {
    apply: (place: Place, order: Order, call: DriverCall) => apply(place, order, { call, parts }),
    observe: (place: Place, order: Order, signal?: AbortSignal) =>
      observe(place, order, { signal, parts }),
    /** Ends what nobody asks about any more: its process has ended, or its deadline came first. */
    finish: async (workload: Workload): Promise<void> => {
      const record = readRecord(workload.metadata.annotations);
      if (record === undefined || record.failed !== undefined || isComplete(workload)) return;
      if (parts.nowMs() < record.atMs + parts.readyTimeoutMs) return;
      const order = { image: record.image, deployId: record.id };
      await observe(workload.metadata, order, { signal: undefined, parts });
    },
  };
}

async function apply(
  place: Place,
  order: Order,
  { call, parts }: { call: DriverCall; parts: DeploymentParts },
): Promise<ApplyResult> {
  for (let tries = 0; tries < mostTries; tries++) {
    const workload = await parts.calls.read(place, call.signal);
    if (workload === undefined) return { failure: gone };
    const before = readRecord(workload.metadata.annotations);
    if (before?.id === order.deployId) return {};
    const obstacle = findObstacle(workload, parts);
    if (obstacle !== undefined) return { failure: obstacle };
    const record = recordOf(workload, before, { ...order, parts });
    const changed = await change({ place, workload, record, image: order.image }, { parts, call });
    if (changed.kind === "done") return {};
    if (changed.kind === "refused") return { failure: changed.reason };
  }
  throw new UnreachableError("unreachable: the workload changes all the time");
}

type ImageChange = { place: Place; workload: Workload; record: DeployRecord; image: string };

function change(
  { place, workload, record, image }: ImageChange,
  { parts, call }: { parts: DeploymentParts; call?: DriverCall },
): Promise<Changed> {
  const container = nameOf(workload, parts);
  const owners = ownersOfImage(workload, container, parts.fieldManager);
  return parts.calls.apply(
    {
      place,
      resourceVersion: workload.metadata.resourceVersion,
      annotations: writeRecord(record),
      container,
      image,
      // Whoever has written it once leaves it to the next who writes. One who applies it would set it back.
      isForced: parts.isForced || owners.every(({ isApplied }) => !isApplied),
    },
    call,
  );
}

async function observe(
  place: Place,
  order: Order,
  { signal, parts }: { signal: AbortSignal | undefined; parts: DeploymentParts },
): Promise<SentinelObservation> {
  const workload = await parts.calls.read(place, signal);
  if (workload === undefined) return { status: "failed", reason: gone };
  const record = readRecord(workload.metadata.annotations);
  const container = nameOf(workload, parts);
  const pods = isComplete(workload) ? [] : await parts.calls.pods(workload, signal);
  const running_image = servingImage(workload, { record, container, pods });
  if (record?.id !== order.deployId) {
    return { status: "progressing", isOrdered: false, running_image };
  }
  if (record.failed !== undefined)
    return observeFailed(workload, record, { container, running_image });
  const verdict = judge(workload, record, { container, pods, parts });
  if (verdict.status !== "failed" || verdict.isForeign === true) {
    return { ...observationOf(verdict), running_image };
  }
  // The reason is kept with the image that comes back: whoever looks next knows it. If the workload has changed
  // meanwhile the next look judges it anew.
  const failed = { ...record, failed: verdict.reason };
  await change({ place, workload, record: failed, image: record.previous }, { parts });
  return { ...progressing(verdict.reason), running_image };
}

function judge(
  workload: Workload,
  { image, atMs }: DeployRecord,
  { container, pods, parts }: { container: string; pods: readonly Pod[]; parts: DeploymentParts },
): Verdict {
  const owners = ownersOfImage(workload, container, parts.fieldManager);
  const untilMs = atMs + timeToJudge(parts.readyTimeoutMs);
  const nowMs = parts.nowMs();
  return judgeDeployment({ workload, pods, container, image, owners, untilMs, nowMs });
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
  const isUnproven =
    before?.image === present && before.failed === undefined && !isComplete(workload);
  const previous = isUnproven ? before.previous : present;
  return { id: deployId, image, previous, atMs: parts.nowMs() };
}

type Seen = { record: DeployRecord | undefined; container: string; pods: readonly Pod[] };

/** The image that answers requests: until all of the new one are there it is the earlier one. */
function servingImage(workload: Workload, { record, container, pods }: Seen): string {
  const present = imageOf(workload, container);
  if (isComplete(workload)) return present;
  const ready = pods.flatMap((pod) => {
    const isReady = pod.status.conditions.some(
      ({ type, status }) => type === "Ready" && status === "True",
    );
    return isReady ? (pod.spec.containers.find(({ name }) => name === container)?.image ?? []) : [];
  });
  return ready.find((image) => image !== present) ?? ready[0] ?? record?.previous ?? present;
}

/** It has failed for good once what was there before runs again, or somebody else has set another image. */
function observeFailed(
  workload: Workload,
  record: DeployRecord,
  { container, running_image }: { container: string; running_image: string },
): SentinelObservation {
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
