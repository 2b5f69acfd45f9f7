/** Why a pod does not run its container, by what the kubelet says of it. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import { cleanText } from "#kernel/clean-text.ts";
import type { ContainerStatus, Pod } from "./schemas.ts";

/** `isFinal`: waiting longer does not help. */
export type PodFault = { reason: string; isFinal: boolean };

const maxWords = 200;

/** From this restart on a loop is no accident of the start. */
const loopRestarts = 2;

/** undefined: nothing is wrong with it, or not yet. */
export function findFault(pod: Pod): PodFault | undefined {
  const { status } = pod;
  const unscheduled = status.conditions.find(
    ({ type, status: is, reason }) =>
      type === "PodScheduled" && is === "False" && reason === "Unschedulable",
  );
  if (unscheduled !== undefined) return later("unschedulable", unscheduled.message);
  if (status.reason === "Evicted") return later("unschedulable", `evicted: ${status.message}`);
  for (const one of [...status.initContainerStatuses, ...status.containerStatuses]) {
    const fault = faultOf(one);
    if (fault !== undefined) return fault;
  }
  const unready = status.containerStatuses.find(({ ready, state }) => !ready && state?.running);
  return unready && later("probe_failing", `${unready.name} is not ready`);
}

/** The worst of several: a final one before one that may pass. */
export function worstFault(pods: readonly Pod[]): PodFault | undefined {
  const faults = pods.flatMap((pod) => findFault(pod) ?? []);
  return faults.find(({ isFinal }) => isFinal) ?? faults[0];
}

function faultOf(container: ContainerStatus): PodFault | undefined {
  const { waiting, terminated } = container.state ?? {};
  const last = container.lastState?.terminated ?? undefined;
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
      return container.restartCount >= loopRestarts ? loop(last?.exitCode ?? 0) : undefined;
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
