import { describe, expect, it } from "vitest";
import { gradeWorkload, type Judged } from "#fleet/drivers/kubernetes/judge.ts";
import { Pod, Workload } from "#fleet/drivers/kubernetes/schemas.ts";

const image = "r.io/gateway:v2";

function buildWorkload({ spec = {}, status = {}, generation = 2 } = {}): Workload {
  return Workload.parse({
    metadata: { name: "gw", namespace: "edge", uid: "u1", resourceVersion: "7", generation },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "gw" } },
      template: { spec: { containers: [{ name: "gateway", image }] } },
      ...spec,
    },
    status: {
      observedGeneration: 2,
      replicas: 2,
      updatedReplicas: 2,
      availableReplicas: 2,
      ...status,
    },
  });
}

function buildPod(container: object): Pod {
  return Pod.parse({
    metadata: { name: "gw-1", namespace: "edge", uid: "u2", resourceVersion: "8" },
    spec: { containers: [{ name: "gateway", image }] },
    status: { phase: "Running", containerStatuses: [{ name: "gateway", ...container }] },
  });
}

const crashing = buildPod({
  restartCount: 3,
  state: { waiting: { reason: "CrashLoopBackOff" } },
  lastState: { terminated: { reason: "Error", exitCode: 3 } },
});
const unready = buildPod({ ready: false, restartCount: 0, state: { running: {} } });

const judge = (over: Partial<Judged> = {}) =>
  gradeWorkload({
    workload: buildWorkload(),
    pods: [],
    container: "gateway",
    image,
    owners: [],
    sinceMs: 0,
    stableMs: 0,
    untilMs: 1_000,
    nowMs: 0,
    ...over,
  });

const overdue = [{ type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" }];
const partly = { updatedReplicas: 1, availableReplicas: 2 };

describe("gradeWorkload", () => {
  it.each([
    ["all replicas are of its image and available", {}],
    ["it is scaled to zero, whose counts are absent", { spec: { replicas: 0 }, status: zero() }],
  ])("is ready when %s", (_, of) => {
    expect(judge({ workload: buildWorkload(of) })).toEqual({ status: "ready" });
  });

  it("is ready with more pods than a call may have arguments", () => {
    const ready = buildPod({ ready: true, state: { running: {} } });
    const pods = new Array<Pod>(200_000).fill(ready);

    expect(judge({ pods, stableMs: 1, nowMs: 1 })).toEqual({ status: "ready" });
  });

  function zero() {
    return { replicas: undefined, updatedReplicas: undefined, availableReplicas: undefined };
  }

  it.each([
    ["fewer are updated", { updatedReplicas: 1 }],
    ["old ones are still there", { replicas: 3 }],
    ["not all are available", { availableReplicas: 1 }],
    ["none is there, as in between with Recreate", zero()],
  ])("is not ready while %s", (_, status) => {
    expect(judge({ workload: buildWorkload({ status }) })).toEqual({ status: "progressing" });
  });

  it("believes no status of before the change, neither a good nor a bad one", () => {
    const before = { generation: 3 };
    const bad = { generation: 3, status: { ...partly, conditions: overdue } };

    expect(judge({ workload: buildWorkload(before) }).status).toBe("progressing");
    expect(judge({ workload: buildWorkload(bad), pods: [crashing] }).status).toBe("progressing");
  });

  it("fails at once by what is final, and by what may pass only in the end", () => {
    const workload = buildWorkload({ status: partly });

    expect(judge({ workload, pods: [unready, crashing] })).toEqual({
      status: "failed",
      reason: "crash_loop: exit code 3",
    });
    expect(judge({ workload, pods: [unready] })).toEqual({
      status: "progressing",
      reason: "probe_failing: gateway is not ready",
    });
    expect(judge({ workload, pods: [unready], nowMs: 1_000 })).toEqual({
      status: "failed",
      reason: "probe_failing: gateway is not ready",
    });
  });

  it("waits until new pods have been ready for a while, unless the Deployment does", () => {
    const atMs = Date.parse("2026-01-01T12:00:00Z");
    const conditions = [
      { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T12:00:00Z" },
    ];
    const pods = [
      { ...unready, status: { ...unready.status, conditions: conditionsOf(conditions) } },
    ];
    const at = (nowMs: number, over: Partial<Judged> = {}) =>
      judge({ pods, stableMs: 10_000, nowMs, untilMs: atMs + 60_000, ...over }).status;

    expect([at(atMs + 9_000), at(atMs + 10_000)]).toEqual(["progressing", "ready"]);
    expect(at(atMs + 9_000, { untilMs: atMs + 9_000 })).toBe("failed");
    expect(at(atMs, { workload: buildWorkload({ spec: { minReadySeconds: 5 } }) })).toBe("ready");
    expect(at(atMs, { pods: [] })).toBe("ready");
  });

  const conditionsOf = (conditions: object[]) =>
    Pod.parse({ ...unready, status: { ...unready.status, conditions } }).status.conditions;

  it("does not believe a missed deadline of before the order", () => {
    const conditions = [{ ...overdue[0], lastUpdateTime: "2026-01-01T12:00:00Z" }];
    const workload = buildWorkload({ status: { ...partly, conditions } });
    const sinceMs = Date.parse("2026-01-01T12:00:05Z");

    expect(judge({ workload, sinceMs }).status).toBe("progressing");
    expect(judge({ workload, sinceMs: sinceMs - 5_000 }).status).toBe("failed");
  });

  it("fails by the Deployment's own deadline, with a reason of its own when nothing is known", () => {
    const workload = buildWorkload({ status: { ...partly, conditions: overdue } });

    expect(judge({ workload })).toEqual({
      status: "failed",
      reason: "progress_deadline: its pods were not ready in time",
    });
  });

  it.each([
    ["pods are forbidden: exceeded quota: few", "quota_exceeded: "],
    ["admission webhook denied the request", "config_invalid: "],
  ])("tells why no pod is created: %s", (message, code) => {
    const conditions = [
      { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message },
    ];
    const workload = buildWorkload({ status: { ...partly, conditions } });

    expect(judge({ workload })).toEqual({ status: "progressing", reason: `${code}${message}` });
  });

  it("does not fight over an image that somebody else has set", () => {
    const owners = [{ manager: "argocd", isApplied: true }];

    expect(judge({ image: "r.io/gateway:v3", owners })).toEqual({
      status: "failed",
      reason: "conflict: the image was changed by argocd",
      isForeign: true,
    });
  });
});
