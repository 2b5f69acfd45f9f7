/** What a kubelet says of a pod, as it was recorded of a real one (Kubernetes 1.20 and 1.36), by the fate of its image. */

export type PodStatus = {
  phase: string;
  conditions: object[];
  containerStatuses?: object[];
};

/** How a pod gets on: each status after so many milliseconds. The last one stays. */
export type PodFate = { afterMs: number; status: PodStatus }[];

/** Whoever shows a status puts the present time in its place. */
export const startedAt = "2026-01-01T00:00:00Z";

const scheduled = { type: "PodScheduled", status: "True" };

function waiting(reason: string, message?: string, more: object = {}) {
  return { state: { waiting: { reason, ...(message && { message }) } }, ...more };
}

function statusOf(container: object, { isReady = false, phase = "Pending" } = {}): PodStatus {
  const ready = isReady
    ? { type: "Ready", status: "True", lastTransitionTime: startedAt }
    : { type: "Ready", status: "False", reason: "ContainersNotReady" };
  const status = {
    name: "gateway",
    image: "as-the-runtime-says",
    imageID: "",
    ready: isReady,
    restartCount: 0,
    ...container,
  };
  return { phase, conditions: [scheduled, ready], containerStatuses: [status] };
}

const running = { state: { running: { startedAt } } };
const isRunning = { phase: "Running" };

function ended(exitCode: number, reason = "Error") {
  return { terminated: { exitCode, reason, startedAt, finishedAt: startedAt } };
}

export const creating = statusOf(waiting("ContainerCreating"));
const ready = statusOf(running, { isReady: true, phase: "Running" });

function crashing(exitCode: number, reason?: string): PodFate {
  const last = { lastState: ended(exitCode, reason) };
  return [
    { afterMs: 10, status: statusOf(running, isRunning) },
    { afterMs: 10, status: statusOf({ state: ended(exitCode, reason) }, isRunning) },
    { afterMs: 10, status: statusOf({ ...running, ...last, restartCount: 1 }, isRunning) },
    {
      afterMs: 10,
      status: statusOf(
        waiting("CrashLoopBackOff", "back-off 10s restarting failed container", {
          ...last,
          restartCount: 1,
        }),
        isRunning,
      ),
    },
  ];
}

/** The kubelet tries again and again: its reasons alternate, and only one of the two says why. */
function pulling(message: string): PodFate {
  const tried = { afterMs: 50, status: statusOf(waiting("ErrImagePull", message)) };
  const backOff = waiting("ImagePullBackOff", 'Back-off pulling image "it"');
  const waits = { afterMs: 50, status: statusOf(backOff) };
  return [tried, waits, tried, waits, tried, waits, tried];
}

/** By the end of an image's tag; any other image becomes ready. */
const fates: Record<string, PodFate> = {
  // Longer than a look waits for a change.
  "-slow": [{ afterMs: 2_500, status: ready }],
  "-crash": crashing(1),
  "-oom": crashing(137, "OOMKilled"),
  "-sick": [{ afterMs: 10, status: statusOf(running, isRunning) }],
  "-absent": pulling("rpc error: code = NotFound desc = failed to pull: manifest unknown"),
  // Longer than the kubelet needs to say so twice.
  "-late": [
    ...pulling('failed to resolve reference "it": it: not found'),
    { afterMs: 4_000, status: ready },
  ],
  "-secret": pulling("pull access denied, authorization failed: no basic auth credentials"),
  "-unroutable": pulling("dial tcp 192.0.2.1:443: connect: connection refused"),
  "-invalid": [{ afterMs: 10, status: statusOf(waiting("InvalidImageName", "couldn't parse it")) }],
  "-unstartable": [
    {
      afterMs: 10,
      status: statusOf(waiting("RunContainerError", "exec: /gateway: no such file"), isRunning),
    },
  ],
  "-unconfigured": [
    {
      afterMs: 10,
      status: statusOf(waiting("CreateContainerConfigError", 'configmap "settings" not found')),
    },
  ],
  "-homeless": [
    {
      afterMs: 10,
      status: {
        phase: "Pending",
        conditions: [
          {
            type: "PodScheduled",
            status: "False",
            reason: "Unschedulable",
            message: "0/3 nodes are available: 3 Insufficient memory.",
          },
        ],
      },
    },
  ],
};

/** What the tag of an image ends in, for each fate but a good one. */
export const fateNames: readonly string[] = Object.keys(fates);

export function fateOf(image: string, readyAfterMs: number): PodFate {
  const tag = image.replace(/@sha256:.*$/, "");
  const found = Object.entries(fates).find(([ending]) => tag.endsWith(ending));
  return found?.[1] ?? [{ afterMs: readyAfterMs, status: ready }];
}
