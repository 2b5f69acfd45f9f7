/** The next step of a member's deploy, by what there is: whoever looks next can go on with it. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import {
  findExchanged,
  imageOf,
  isReady,
  isSeen,
  notInTime,
  readySinceMs,
} from "#fleet/drivers/kubernetes/judge.ts";
import { findFault } from "#fleet/drivers/kubernetes/judge-pod.ts";
import { type ImageOwner, policyReason } from "#fleet/drivers/kubernetes/owners.ts";
import type { Pod } from "#fleet/drivers/kubernetes/schemas.ts";
import { isOtherContent, isSameContent } from "#kernel/image-reference.ts";
import { endMsOf, type MemberRecord, targetOf } from "./records.ts";
import { findBlocker, isMadeOf, livingPod, type SetReading, templateOf } from "./set-reading.ts";

export type Step =
  /** `isBrief`: for the controller or a pod's end, which come by themselves. */
  | { do: "wait"; reason?: string | undefined; isBrief?: boolean }
  /** Gives the template the image that the member needs. */
  | { do: "set-template" }
  /** Ends its pod, so that the next one is made of the template. */
  | { do: "replace"; pod: Pod; isServing: boolean }
  /** `setsTemplate`: what ran before is put back into the template, which is free. */
  | { do: "fail"; reason: string; setsTemplate: boolean }
  /** `stuck`: why what ran before does not come back. */
  | { do: "end"; stuck?: string }
  | { do: "nothing" };

export type MemberView = {
  reading: SetReading;
  member: string;
  record: MemberRecord;
  /** The other owners that have set the template's image. */
  owners: readonly ImageOwner[];
  nowMs: number;
  /** The limit of a deploy, and of its verdict. */
  readyTimeoutMs: number;
  judgedWithinMs: number;
  /** The times for which its pod has to be ready, and an image with a digest may be missing. */
  stableMs: number;
  imageWaitMs?: number;
  /** Why its pod could not be ended so far. */
  brake: string | undefined;
};

export function planMember(view: MemberView): Step {
  const { record } = view;
  if (record.ended === true) return { do: "nothing" };
  return record.failed === undefined ? planOrder(view) : planBack(view);
}

function planOrder(view: MemberView): Step {
  const { reading, member, record, nowMs } = view;
  const untilMs = record.atMs + view.judgedWithinMs;
  const pod = madePod(view);
  if (pod !== undefined) {
    const verdict = gradePod(pod, { ...view, ...record, sinceMs: record.atMs, untilMs });
    if (verdict.status === "ready") return { do: "end" };
    return verdict.status === "failed" ? fail(view, verdict.reason) : wait(verdict.reason);
  }
  const foreign = findForeign(view);
  if (foreign !== undefined) {
    return { do: "fail", reason: `${conflict}: ${foreign}`, setsTemplate: false };
  }
  const exchanged = findExchange(view);
  if (exchanged !== undefined) return fail(view, exchanged);
  const step = planReplacement(view);
  if (nowMs < untilMs) return step;
  const reason = step.do === "wait" ? step.reason : view.brake;
  const noPod = `${"progress_deadline" satisfies ReasonCode}: it has no pod of the image`;
  return fail(view, reason ?? (livingPod(reading, member) === undefined ? noPod : notInTime));
}

/** It has failed for good once what ran before runs again, or cannot. */
function planBack(view: MemberView): Step {
  const { record, nowMs } = view;
  const isOverdue = nowMs >= endMsOf(record, view.readyTimeoutMs);
  const pod = madePod(view);
  const isSame = record.previous === record.image;
  if (isSame || (pod !== undefined && (isReady(pod) || isOverdue))) return { do: "end" };
  if (pod !== undefined) return wait();
  const obstacle = findForeign(view) ?? findExchange(view);
  if (obstacle !== undefined) return { do: "end", stuck: obstacle };
  return isOverdue ? { do: "end", stuck: "not in time" } : planReplacement(view);
}

/** Template, its controller, pod: one after the other. */
function planReplacement(view: MemberView): Step {
  const { reading, member, record } = view;
  const holder = findHolder(reading, wishOf(view));
  if (holder !== undefined) return wait(wordsOfHolder(holder));
  const template = templateOf(reading, record.container);
  if (!isSameContent(template, targetOf(record))) return { do: "set-template" };
  const pod = livingPod(reading, member);
  if (!isSeen(reading.set) || pod === undefined) return { do: "wait", isBrief: true };
  // A failing pod is not waited for: it serves nobody.
  if (record.failed !== undefined && !isReady(pod)) return { do: "replace", pod, isServing: false };
  const blocker = findBlocker(reading, member);
  if (blocker === undefined) return { do: "replace", pod, isServing: true };
  return wait(`${conflict}: no pod would be made for it, since ${blocker} is not ready`);
}

/** It is replaced by a pod of the image that it should have. */
function madePod({ reading, member, record }: MemberView): Pod | undefined {
  const { container } = record;
  const isMade = isMadeOf(reading, member, { container, image: targetOf(record) });
  return isMade ? livingPod(reading, member) : undefined;
}

function fail(view: MemberView, reason: string): Step {
  const failed = { ...view.record, failed: reason };
  const holder = findHolder(view.reading, wishOf({ ...view, record: failed }));
  const isFree = holder === undefined && findForeign(view) === undefined;
  return { do: "fail", reason, setsTemplate: isFree };
}

function wishOf({ member, record, nowMs, readyTimeoutMs }: MemberView) {
  const { container, failed } = record;
  const image = targetOf(record);
  return { member, container, image, isBack: failed !== undefined, nowMs, readyTimeoutMs };
}

/** Somebody else has set another image, who has the say now. */
function findForeign({ reading, record, owners }: MemberView): string | undefined {
  const template = templateOf(reading, record.container);
  const [owner] = owners;
  if (owner === undefined || isSameContent(template, targetOf(record))) return undefined;
  const ours = Object.values(reading.records?.members ?? {}).filter(({ ended }) => ended !== true);
  const isOurs = ours.some((one) =>
    [one.image, targetOf(one)].some((image) => isSameContent(template, image)),
  );
  return isOurs ? undefined : `the image was changed by ${owner.manager}`;
}

/** A policy of the cluster has made another image of what was applied for this member. */
function findExchange({ reading, record, owners }: MemberView): string | undefined {
  const { container, image } = reading.records?.applied ?? {};
  const target = targetOf(record);
  if (owners.length > 0 || container !== record.container || image !== target) return undefined;
  const present = imageOf(reading.set, container);
  return isOtherContent(present, target) ? policyReason(present, target) : undefined;
}

type PodVerdict =
  | { status: "ready" }
  | { status: "progressing"; reason?: string | undefined }
  | { status: "failed"; reason: string };

type PodSpan = Pick<MemberView, "reading" | "nowMs" | "stableMs" | "imageWaitMs"> & {
  container: string;
  image: string;
  sinceMs: number;
  untilMs: number;
};

/** Evaluates a pod that was made of the ordered image. */
export function gradePod(pod: Pod, span: PodSpan): PodVerdict {
  const { reading, container, image, nowMs, sinceMs, untilMs } = span;
  const exchanged = findExchanged([pod], container, image);
  if (exchanged !== undefined) return { status: "failed", reason: policyReason(exchanged, image) };
  const stableMs = reading.set.spec.minReadySeconds * 1_000 || span.stableMs;
  const isStable = stableMs === 0 || nowMs >= readySinceMs(pod) + stableMs;
  if (isReady(pod) && isStable) return { status: "ready" };
  const fault = findFault(pod, sinceMs, span);
  if (fault?.isFinal || nowMs >= untilMs) {
    return { status: "failed", reason: fault?.reason ?? notInTime };
  }
  return { status: "progressing", reason: fault?.reason };
}

function wait(reason?: string): Step {
  return { do: "wait", reason };
}

const conflict: ReasonCode = "conflict";

type Wish = {
  member: string;
  container: string;
  image: string;
  /** To put back what ran before, which does not wait for orders whose pods still serve. */
  isBack: boolean;
  nowMs: number;
  readyTimeoutMs: number;
};

/** The member that the template must not be taken from now; undefined: it has the image, or may be given it. */
export function findHolder(reading: SetReading, wish: Wish): string | undefined {
  const template = templateOf(reading, wish.container);
  if (isSameContent(template, wish.image)) return undefined;
  const others = Object.entries(reading.records?.members ?? {});
  return others.find(
    ([name, record]) => name !== wish.member && holds(reading, { name, record, template, wish }),
  )?.[0];
}

export function wordsOfHolder(holder: string): string {
  const code: ReasonCode = "conflict";
  return `${code}: ${holder} is being replaced by another image, and the template is one for all`;
}

type Candidate = { name: string; record: MemberRecord; template: string; wish: Wish };

function holds(reading: SetReading, { name, record, template, wish }: Candidate): boolean {
  const image = targetOf(record);
  if (record.ended === true || !isSameContent(template, image)) return false;
  if (isMadeOf(reading, name, { container: record.container, image })) return false;
  if (wish.nowMs >= endMsOf(record, wish.readyTimeoutMs)) return false;
  const isServing = livingPod(reading, name) !== undefined;
  // Two that put something back would take it from one another.
  if (wish.isBack && record.failed === undefined && isServing) return false;
  return isServing || findBlocker(reading, name) === undefined;
}
