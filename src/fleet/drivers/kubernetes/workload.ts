/** A workload as one sentinel, whose controller replaces its pods: orders to it, and what became of them. */
import type { ReasonCode } from "#fleet/contract.ts";
import {
  type ApplyResult,
  type DeployOrder,
  type DriverCall,
  type SentinelObservation,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import { isOtherContent, isSameContent } from "#kernel/image-reference.ts";
import type { ChangeResult, Place } from "./calls.ts";
import { type ChangeParts, changeImage, ourselves } from "./change.ts";
import { noPods } from "./generations.ts";
import {
  gradeWorkload,
  imageOf,
  isAvailable,
  isComplete,
  isReady,
  isSeen,
  type Verdict,
} from "./judge.ts";
import { chooseContainer, hasMembers, nameOfKind, unknownContainer } from "./kinds.ts";
import { changersOfImage, policyReason } from "./owners.ts";
import { type DeployRecord, isOpen, readRecord, writeRecord } from "./record.ts";
import type { Workload } from "./schemas.ts";
import { oursIn, servingImage, type TemplateReading, templateImage } from "./template-image.ts";

export type WorkloadParts = ChangeParts & {
  /** The container's name; empty: the workload says it, or has only one. */
  container: string;
  readyTimeoutMs: number;
  /** The times for which new pods have to be ready, and an image with a digest may be missing. */
  stableMs: number;
  imageWaitMs: number;
  /** The earliest and the latest time that it may be now (Unix ms): clocks differ. */
  nowMs: () => number;
  orderedAtMs: () => number;
};

export type Order = Omit<DeployOrder, "sentinelId">;

/** Somebody else may change the workload between our read and our change, and again. */
const mostTries = 3;

export function createWorkloads(parts: WorkloadParts) {
  return {
    apply: (place: Place, order: Order, call: DriverCall) => apply(place, order, { call, parts }),
    observe: (place: Place, order: Order, call: DriverCall) =>
      observe(place, order, { call, parts }),
    finish: async (workload: Workload, signal: AbortSignal): Promise<void> => {
      const record = readRecord(workload);
      if (record === undefined || !isLeft(workload, record, parts)) return;
      const order = { image: record.image, deployId: record.id };
      await observe(placeOf(workload), order, { call: { signal }, parts });
    },
  };
}

async function apply(
  place: Place,
  order: Order,
  { call, parts }: { call: DriverCall; parts: WorkloadParts },
): Promise<ApplyResult> {
  for (let tries = 0; tries < mostTries; tries++) {
    const workload = await parts.calls.read(place, call.signal);
    if (workload === undefined) return { failure: gone(place) };
    const before = readRecord(workload);
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
  by: { parts: WorkloadParts; call?: DriverCall },
): Promise<ChangeResult> {
  const { container } = record;
  const before = oursIn(readRecord(workload));
  const annotations = writeRecord({ ...record, applied: image });
  return changeImage({ place, workload, container, image, annotations, before }, by);
}

type Reading = TemplateReading & { place: Place };

async function observe(
  place: Place,
  order: Order,
  { call, parts }: { call: DriverCall; parts: WorkloadParts },
): Promise<SentinelObservation> {
  const { signal } = call;
  const workload = await parts.calls.read(place, signal);
  if (workload === undefined) return { status: "failed", reason: gone(place) };
  if (hasMembers(workload)) return { status: "failed", reason: membersInstead };
  const record = readRecord(workload);
  // The container as it was ordered: the setting may be another one since.
  const container = record?.id === order.deployId ? record.container : nameOf(workload, parts);
  const needsPods = !isComplete(workload) || isOpen(record);
  const pods = needsPods ? await parts.calls.pods(workload, signal) : noPods;
  const image = templateImage(workload, container, { ...parts, ours: oursIn(record) });
  const reading = { place, workload, record, container, image, pods };
  const now = { running_image: servingImage(reading), healthy: isAvailable(workload) };
  if (record === undefined && isSameContent(image, order.image)) {
    return { ...observationOf(judge(reading, spanUnrecorded(order), parts)), ...now };
  }
  if (record?.id !== order.deployId) return { status: "progressing", isOrdered: false, ...now };
  await endStuckPods({ ...reading, record }, { parts, signal });
  const seen = await conclude({ ...reading, record }, { parts, call });
  return { ...seen, ...now };
}

/** A StatefulSet waits for ever for an unready pod of a bad template (https://github.com/kubernetes/kubernetes/issues/67250). */
async function endStuckPods(
  { workload, record, image, pods }: Reading & { record: DeployRecord },
  { parts, signal }: { parts: WorkloadParts; signal: AbortSignal | undefined },
): Promise<void> {
  const wanted = record.failed === undefined ? record.image : record.previous;
  const isOurs = isSeen(workload) && isSameContent(image, wanted);
  if (workload.resource !== "statefulsets" || record.done === true || !isOurs) return;
  for (const pod of pods.earlier) if (!isReady(pod)) await parts.calls.remove(pod, signal);
}

/** Notes the end of a deploy, at the workload itself: whoever looks next knows it. */
async function conclude(
  reading: Reading & { record: DeployRecord },
  by: { parts: WorkloadParts; call: DriverCall },
): Promise<SentinelObservation> {
  const { record } = reading;
  if (record.failed !== undefined) return observeFailed(reading, record.failed);
  const isStill = isSameContent(reading.image, record.image);
  if (record.done === true && isStill) return { status: "ready", isOrdered: true };
  const verdict = judge(reading, spanOf(record, by.parts), by.parts);
  if (verdict.status === "ready") {
    const done = { ...record, done: true };
    const changed = await change({ ...reading, record: done, image: record.image }, by);
    // Changed meanwhile: the next look judges it anew.
    return observationOf(changed.kind === "stale" ? { status: "progressing" } : verdict);
  }
  if (verdict.status !== "failed" || verdict.isForeign === true || record.done === true) {
    return observationOf(verdict);
  }
  return restore(reading, verdict.reason, by);
}

/** If somebody keeps the image from coming back, that is said too; it is not tried again and again. */
async function restore(
  reading: Reading & { record: DeployRecord },
  reason: string,
  by: { parts: WorkloadParts; call: DriverCall },
): Promise<SentinelObservation> {
  const { record, container, pods } = reading;
  await by.call.beforeRemoval?.({
    reason,
    readLog: (call) => by.parts.calls.log(pods.present, container, call),
  });
  const failed = { ...record, failed: reason };
  const changed = await change({ ...reading, record: failed, image: record.previous }, by);
  const obstacle = obstacleIn(changed, reading);
  if (obstacle === undefined) return progressing(reason);
  const stuck = { ...record, failed: `${reason}; not put back: ${obstacle}` };
  let { workload } = changed.kind === "done" ? changed : reading;
  const present = imageOf(workload, container);
  // Its controller writes the status of what we have just changed.
  for (let tries = 0; tries < mostTries; tries++) {
    const noted = await change({ ...reading, workload, record: stuck, image: record.image }, by);
    if (noted.kind !== "stale") return { status: "failed", reason: stuck.failed, isOrdered: true };
    const now = await by.parts.calls.read(reading.place, by.call.signal);
    if (now === undefined || readRecord(now)?.id !== record.id) break;
    if (imageOf(now, container) !== present) break;
    workload = now;
  }
  return progressing(reason);
}

/** The API server's answer may hold another image than was sent. */
function obstacleIn(
  changed: ChangeResult,
  { record, container }: Reading & { record: DeployRecord },
): string | undefined {
  if (changed.kind === "refused") return changed.reason;
  if (changed.kind === "stale") return undefined;
  const present = imageOf(changed.workload, container);
  const isOther = isOtherContent(present, record.previous);
  return isOther ? policyReason(present, record.previous) : undefined;
}

type Span = { image: string; sinceMs: number; untilMs: number };

function judge(reading: Reading, span: Span, parts: WorkloadParts): Verdict {
  const { workload, container, record, pods } = reading;
  const owners = changersOfImage(workload, container, ourselves(parts, oursIn(record)));
  const ofNow = { workload, pods: pods.present, owners, nowMs: parts.nowMs() };
  return gradeWorkload({ ...parts, ...ofNow, ...span, container });
}

function spanOf({ image, atMs }: DeployRecord, { readyTimeoutMs }: WorkloadParts): Span {
  return { image, sinceMs: atMs, untilMs: atMs + timeToJudge(readyTimeoutMs) };
}

/** Somebody has removed the record: what ran before is not known, so nothing can come back. */
function spanUnrecorded({ image }: Order): Span {
  return { image, sinceMs: 0, untilMs: Number.POSITIVE_INFINITY };
}

/** Before the deploy's own deadline, after which nobody looks any more. */
export function timeToJudge(readyTimeoutMs: number): number {
  return readyTimeoutMs - Math.min(5_000, readyTimeoutMs / 10);
}

function gone({ resource }: Pick<Place, "resource">): string {
  return `${"target_gone" satisfies ReasonCode}: there is no such ${nameOfKind(resource)}`;
}

const membersInstead = `${"target_gone" satisfies ReasonCode}: its pods are sentinels, since its updateStrategy is OnDelete`;

export function placeOf({ resource, metadata: { namespace, name } }: Workload): Place {
  return { resource, namespace, name };
}

/** True if a deploy that nobody asks about any more is unfinished. */
function isLeft(workload: Workload, record: DeployRecord, parts: WorkloadParts): boolean {
  const endMs = record.atMs + parts.readyTimeoutMs;
  const nowMs = parts.nowMs();
  if (record.failed === undefined) return record.done !== true && nowMs >= endMs;
  // The return to the old image may need help, for as long as the deploy had.
  const isHelped = workload.resource === "statefulsets" && !isComplete(workload);
  return isHelped && nowMs < endMs + parts.readyTimeoutMs;
}

function nameOf(workload: Workload, { container }: Pick<WorkloadParts, "container">): string {
  return chooseContainer(workload, container) ?? "";
}

function findObstacle(workload: Workload, parts: WorkloadParts): string | undefined {
  const code: ReasonCode = "config_invalid";
  if (workload.metadata.deletionTimestamp !== "") return gone(workload);
  if (hasMembers(workload)) return membersInstead;
  if (workload.spec.paused === true) return `${code}: the Deployment is paused`;
  if (hasPartition(workload)) {
    return `${code}: the StatefulSet's updateStrategy has a partition, so that it replaces only some of its pods`;
  }
  if (chooseContainer(workload, parts.container) !== undefined) return undefined;
  return unknownContainer;
}

function hasPartition({ resource, spec }: Workload): boolean {
  const { partition = 0 } = spec.updateStrategy?.rollingUpdate ?? {};
  return resource === "statefulsets" && partition > 0;
}

/** An image that has not proven itself is not what comes back. */
function recordOf(
  workload: Workload,
  before: DeployRecord | undefined,
  { image, deployId, parts }: Order & { parts: WorkloadParts },
): DeployRecord {
  const container = nameOf(workload, parts);
  const present = templateImage(workload, container, { ...parts, ours: oursIn(before) });
  const isUnproven =
    isOpen(before) && isSameContent(present, before.image) && !isComplete(workload);
  const { uid } = workload.metadata;
  const previous = isUnproven ? before.previous : present;
  const by = { container, manager: parts.fieldManager };
  return { id: deployId, uid, image, previous, ...by, atMs: parts.orderedAtMs() };
}

/** It has failed for good once what was there before runs again, or somebody else has set another image. */
function observeFailed(
  { workload, image, record }: Reading & { record: DeployRecord },
  reason: string,
): SentinelObservation {
  const isBack = isComplete(workload) || !isSameContent(image, record.previous);
  if (!isBack && record.previous !== record.image) return progressing(reason);
  return { status: "failed", reason, isOrdered: true };
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
