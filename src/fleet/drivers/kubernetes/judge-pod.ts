/** Why a pod does not run its container, by what the kubelet says of it. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import { cleanText } from "#kernel/clean-text.ts";
import type { ContainerStatus, Pod } from "./schemas.ts";

/** `isFinal`: waiting longer does not help. */
export type PodFault = { reason: string; isFinal: boolean };

const maxWords = 200;

/** From this restart on a loop is no accident of the start. */
const loopRestarts = 2;

/** Between the clocks of a node and of an API server. */
const skewMs = 5_000;

/** undefined: nothing is wrong with it, or not yet. What was before `sinceMs` (Unix ms) is no matter. */
export function findFault(pod: Pod, sinceMs: number): PodFault | undefined {
  const { status } = pod;
  const unscheduled = status.conditions.find(
    ({ type, status: is, reason }) =>
      type === "PodScheduled" && is === "False" && reason === "Unschedulable",
  );
  if (unscheduled !== undefined) return later("unschedulable", unscheduled.message);
  if (status.reason === "Evicted") return later("unschedulable", `evicted: ${status.message}`);
  for (const one of [...status.initContainerStatuses, ...status.containerStatuses]) {
    const fault = isWell(one) ? undefined : faultOf(one, sinceMs - skewMs);
    if (fault !== undefined) return fault;
  }
  const unready = status.containerStatuses.find(({ ready, state }) => !ready && state?.running);
  return unready && later("probe_failing", `${unready.name} is not ready`);
}

/** The worst of several: a final one before one that may pass. */
export function worstFault(pods: readonly Pod[], sinceMs: number): PodFault | undefined {
  const faults = pods.flatMap((pod) => findFault(pod, sinceMs) ?? []);
  return faults.find(({ isFinal }) => isFinal) ?? faults[0];
}

/** Whatever was before: it serves, or it had one thing to do and has done it. */
function isWell({ ready, state }: ContainerStatus): boolean {
  return ready === true || state?.terminated?.exitCode === 0;
}

function faultOf(container: ContainerStatus, sinceMs: number): PodFault | undefined {
  const { waiting, terminated } = container.state ?? {};
  const before = container.lastState?.terminated ?? undefined;
  // Without a time it counts.
  const last = before && Date.parse(before.finishedAt) < sinceMs ? undefined : before;
  if (last?.reason === "OOMKilled" || terminated?.reason === "OOMKilled") {
    return final("oom_killed", "its memory limit was reached");
  }
  if (waiting) return faultOfWaiting(container, { ...waiting, last });
  const ended = terminated ?? last;
  if (!ended || container.restartCount === 0) return undefined;
  return { ...loop(ended.exitCode), isFinal: container.restartCount >= loopRestarts };
}

type Waiting = {
  reason: string;
  message: string;
  last: { reason: string; message: string; exitCode: number } | undefined;
};

function faultOfWaiting(
  container: ContainerStatus,
  { reason, message, last }: Waiting,
): PodFault | undefined {
  switch (reason) {
    case "InvalidImageName":
      return final("invalid_image", message);
    case "ErrImagePull":
    case "ImagePullBackOff":
    case "ErrImageNeverPull":
      return faultOfPull(message);
    case "RunContainerError":
    case "CreateContainerError":
      return final("start_error", message);
    case "CreateContainerConfigError":
      return later("config_invalid", message);
    case "CrashLoopBackOff":
      return last !== undefined && isStartError(last)
        ? final("start_error", last.message)
        : loop(last?.exitCode ?? 0);
    default:
      if (last !== undefined && isStartError(last)) return final("start_error", last.message);
      return last !== undefined && container.restartCount >= loopRestarts
        ? loop(last.exitCode)
        : undefined;
  }
}

/** What a container that could not be started is called by dockershim, and by containerd. */
function isStartError({ reason }: { reason: string }): boolean {
  return ["ContainerCannotRun", "StartError"].includes(reason);
}

/** A back-off does not repeat why: what it waits for is unknown then. */
function faultOfPull(message: string): PodFault {
  if (/toomanyrequests|too many requests/i.test(message)) {
    return later("registry_unavailable", message);
  }
  if (/no matching manifest|does not match the specified platform/i.test(message)) {
    return final("image_platform", message);
  }
  if (/manifest unknown|name unknown|not found/i.test(message)) {
    return final("image_not_found", message);
  }
  if (/no basic auth|unauthorized|denied|authentication required/i.test(message)) {
    return later("image_auth", message);
  }
  return /back-off/i.test(message)
    ? later("pull_backoff", message)
    : later("registry_unavailable", message);
}

function loop(exitCode: number): PodFault {
  return final("crash_loop", `exit code ${exitCode}`);
}

function final(code: ReasonCode, words: string): PodFault {
  return { reason: reasonOf(code, words), isFinal: true };
}

function later(code: ReasonCode, words: string): PodFault {
  return { reason: reasonOf(code, words), isFinal: false };
}

function reasonOf(code: ReasonCode, words: string): string {
  const clean = cleanText(words, maxWords).trim();
  return clean === "" ? code : `${code}: ${clean}`;
}
