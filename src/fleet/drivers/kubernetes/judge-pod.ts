/** Why a pod does not run its container, by what the kubelet says of it. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import { classifyPull } from "#fleet/drivers/pull-failure.ts";
import { hasDigest } from "#kernel/image-reference.ts";
import { cleanWords } from "#kernel/log.ts";
import type { ContainerStatus, Pod } from "./schemas.ts";

/** `isFinal`: waiting longer does not help. */
export type PodFault = { reason: string; isFinal: boolean };

const maxWords = 200;

/** From this restart on a loop is no accident of the start. */
const loopRestarts = 2;

/** Between the clocks of a node and of an API server. */
const skewMs = 5_000;

/** The wait for a missing image that has a digest: registries copy it to one another. */
export type ImageWait = { nowMs: number; imageWaitMs?: number };

/** undefined: nothing is wrong with it, or not yet. What was before `sinceMs` (Unix ms) is no matter. */
export function findFault(
  pod: Pod,
  sinceMs: number,
  wait: ImageWait = { nowMs: 0 },
): PodFault | undefined {
  const { status } = pod;
  const unscheduled = status.conditions.find(
    ({ type, status: is, reason }) =>
      type === "PodScheduled" && is === "False" && reason === "Unschedulable",
  );
  if (unscheduled !== undefined) return later("unschedulable", unscheduled.message);
  const createdMs = Date.parse(pod.metadata.creationTimestamp) || sinceMs;
  const fromMs = sinceMs - skewMs;
  const isWaitOver = wait.nowMs >= Math.max(sinceMs, createdMs) + (wait.imageWaitMs ?? 0);
  for (const one of [...status.initContainerStatuses, ...status.containerStatuses]) {
    const mayCome = !isWaitOver && hasDigest(imageFor(pod, one));
    const seen = { fromMs, createdMs, mayCome };
    const fault = isWell(one) ? undefined : faultOf(one, seen);
    if (fault !== undefined) return fault;
  }
  const unready = status.containerStatuses.find(({ ready, state }) => !ready && state?.running);
  return unready && later("probe_failing", `${unready.name} is not ready`);
}

function imageFor({ spec }: Pod, { name }: ContainerStatus): string {
  return [...spec.initContainers, ...spec.containers].find((one) => one.name === name)?.image ?? "";
}

/** The worst of several: a final one before one that may pass. */
export function worstFault(
  pods: readonly Pod[],
  sinceMs: number,
  wait?: ImageWait,
): PodFault | undefined {
  const faults = pods.flatMap((pod) => findFault(pod, sinceMs, wait) ?? []);
  return faults.find(({ isFinal }) => isFinal) ?? faults[0];
}

/** Whatever was before: it serves, or it had one thing to do and has done it. */
function isWell({ ready, state }: ContainerStatus): boolean {
  return ready === true || state?.terminated?.exitCode === 0;
}

/** `createdMs`: when its pod was. `mayCome`: its image, if that is missing. */
type Seen = { fromMs: number; createdMs: number; mayCome: boolean };

function faultOf(container: ContainerStatus, seen: Seen): PodFault | undefined {
  const { waiting } = container.state ?? {};
  const before = container.lastState?.terminated ?? undefined;
  // Without a time it counts.
  const isOld = ({ finishedAt }: { finishedAt: string }) => Date.parse(finishedAt) < seen.fromMs;
  const [terminated, last] = [container.state?.terminated ?? undefined, before].map((ended) =>
    ended !== undefined && isOld(ended) ? undefined : ended,
  );
  const ended = terminated ?? last;
  // A run from before the order counts as the first end since, whatever the restart count.
  const isOfOrder = (Date.parse(ended?.startedAt ?? "") || seen.createdMs) >= seen.fromMs;
  const isLoop = isOfOrder && container.restartCount >= loopRestarts;
  if (last?.reason === "OOMKilled" || terminated?.reason === "OOMKilled") {
    return { ...final("oom_killed", "its memory limit was reached"), isFinal: isOfOrder };
  }
  const { mayCome } = seen;
  if (waiting) return faultOfWaiting({ ...waiting, last, before, isOfOrder, isLoop, mayCome });
  if (!ended || container.restartCount === 0) return undefined;
  return { ...loop(ended.exitCode), isFinal: isLoop };
}

type Ended = NonNullable<NonNullable<ContainerStatus["lastState"]>["terminated"]>;

/** `last`: `before`, if that was since the order. */
type Waiting = {
  reason: string;
  message: string;
  last: Ended | undefined;
  before: Ended | undefined;
  /** True if that run has started since, too. */
  isOfOrder: boolean;
  isLoop: boolean;
  mayCome: boolean;
};

function faultOfWaiting(waiting: Waiting): PodFault | undefined {
  const { reason, message, last, before, isOfOrder, isLoop, mayCome } = waiting;
  switch (reason) {
    case "InvalidImageName":
      return final("invalid_image", message);
    case "ErrImagePull":
    case "ImagePullBackOff":
    case "ErrImageNeverPull":
    case "RegistryUnavailable":
      return faultOfPull(message, mayCome);
    case "RunContainerError":
    case "CreateContainerError":
      return isPassing(message) ? later("start_error", message) : final("start_error", message);
    case "CreateContainerConfigError":
      return later("config_invalid", message);
    case "CrashLoopBackOff":
      // The kubelet may go on waiting for minutes for what happened before the order.
      return (
        startErrorOf(last) ?? {
          ...loop((last ?? before)?.exitCode),
          isFinal: isOfOrder && last === before,
        }
      );
    default:
      return startErrorOf(last) ?? (last && isLoop ? loop(last.exitCode) : undefined);
  }
}

/** The words of a busy runtime, which the kubelet asks again. */
function isPassing(message: string): boolean {
  return /deadline exceeded|timed? ?out|is reserved for|image not known/i.test(message);
}

/** The names of a container that could not be started: of dockershim, and of containerd. */
function startErrorOf(last: Ended | undefined): PodFault | undefined {
  const isOne = last !== undefined && ["ContainerCannotRun", "StartError"].includes(last.reason);
  return isOne ? final("start_error", last.message) : undefined;
}

/** Before Kubernetes 1.32 a back-off does not repeat why: what it waits for is unknown then. */
function faultOfPull(message: string, mayCome: boolean): PodFault {
  const unknown = /back-off/i.test(message) ? "pull_backoff" : "registry_unavailable";
  const { code, isPermanent } = classifyPull(message) ?? { code: unknown, isPermanent: false };
  const mayPass = code === "image_auth" || (code === "image_not_found" && mayCome);
  return isPermanent && !mayPass ? final(code, message) : later(code, message);
}

function loop(exitCode = 0): PodFault {
  return final("crash_loop", `exit code ${exitCode}`);
}

function final(code: ReasonCode, words: string): PodFault {
  return { reason: reasonOf(code, words), isFinal: true };
}

function later(code: ReasonCode, words: string): PodFault {
  return { reason: reasonOf(code, words), isFinal: false };
}

function reasonOf(code: ReasonCode, words: string): string {
  const clean = cleanWords(words, maxWords).trim();
  return clean === "" ? code : `${code}: ${clean}`;
}
