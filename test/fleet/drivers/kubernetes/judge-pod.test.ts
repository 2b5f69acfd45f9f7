import { describe, expect, it } from "vitest";
import { findFault, worstFault } from "#fleet/drivers/kubernetes/judge-pod.ts";
import { Pod } from "#fleet/drivers/kubernetes/schemas.ts";

function buildPod(status: object): Pod {
  return Pod.parse({
    metadata: { name: "gw-1", namespace: "edge", uid: "u", resourceVersion: "8" },
    spec: { containers: [{ name: "gateway", image: "r.io/gateway:v2" }] },
    status,
  });
}

const ofContainer = (container: object) =>
  buildPod({ containerStatuses: [{ name: "gateway", restartCount: 0, ...container }] });
const waiting = (reason: string, message = "") =>
  ofContainer({ state: { waiting: { reason, message } } });
const ended = (exitCode: number, reason = "Error", finishedAt = "") => ({
  terminated: { exitCode, reason, finishedAt },
});

const atMs = Date.parse("2026-01-01T12:00:00Z");
const endedAt = (finishedAt: string) => ({
  terminated: { exitCode: 1, reason: "Error", finishedAt },
});

describe("findFault", () => {
  it.each([
    ["serves", { ready: true, restartCount: 7, state: { running: {} }, lastState: ended(1) }],
    [
      "serves after it was out of memory once",
      { ready: true, restartCount: 1, state: { running: {} }, lastState: ended(137, "OOMKilled") },
    ],
    [
      "had one thing to do and has done it",
      { restartCount: 2, state: ended(0), lastState: ended(1) },
    ],
  ])("finds none in a container that %s", (_, container) => {
    expect(findFault(ofContainer(container), 0)).toBeUndefined();
  });

  it("does not count what was before the order", () => {
    const of = (finishedAt: string) =>
      ofContainer({ restartCount: 3, state: { running: {} }, lastState: endedAt(finishedAt) });

    expect(findFault(of("2026-01-01T11:00:00Z"), atMs)?.reason).toMatch(/^probe_failing/);
    expect(findFault(of("2026-01-01T12:00:01Z"), atMs)?.reason).toMatch(/^crash_loop/);
  });

  it("calls no old count of restarts a loop, when there was one end since the order", () => {
    const of = (startedAt: string) => {
      const { terminated } = endedAt("2026-01-01T12:00:30Z");
      const lastState = { terminated: { ...terminated, startedAt } };
      return findFault(ofContainer({ restartCount: 7, state: { running: {} }, lastState }), atMs);
    };

    expect(of("2025-11-01T00:00:00Z")).toEqual({
      reason: "crash_loop: exit code 1",
      isFinal: false,
    });
    expect(of("2026-01-01T12:00:20Z")).toEqual({
      reason: "crash_loop: exit code 1",
      isFinal: true,
    });
  });

  it.each([
    ["waits for its next run", { state: { waiting: { reason: "CrashLoopBackOff" } } }, "Error"],
    ["was out of memory", { state: { running: {} } }, "OOMKilled"],
    [
      "was out of memory and waits",
      { state: { waiting: { reason: "CrashLoopBackOff" } } },
      "OOMKilled",
    ],
  ])(
    "calls nothing final of a container that %s after a run of before the order",
    (_, container, reason) => {
      const of = (startedAt: string) => {
        const terminated = { exitCode: 137, reason, startedAt, finishedAt: "2026-01-01T12:00:30Z" };
        const status = { restartCount: 7, ...container, lastState: { terminated } };
        return findFault(ofContainer(status), atMs)?.isFinal;
      };

      expect([of("2025-11-01T00:00:00Z"), of("2026-01-01T12:00:20Z")]).toEqual([false, true]);
    },
  );

  it.each([
    ["ended", { state: { ...endedAt("2025-11-01T00:00:00Z") } }],
    ["was out of memory", { state: ended(137, "OOMKilled", "2025-11-01T00:00:00Z") }],
  ])("does not count that a container %s before the order", (_, container) => {
    expect(findFault(ofContainer({ restartCount: 3, ...container }), atMs)).toBeUndefined();
  });

  it("waits for the next run of a loop of before the order", () => {
    const state = { waiting: { reason: "CrashLoopBackOff" } };
    const of = (finishedAt: string) =>
      findFault(ofContainer({ restartCount: 9, state, lastState: endedAt(finishedAt) }), atMs);

    expect(of("2026-01-01T11:50:00Z")).toEqual({
      reason: "crash_loop: exit code 1",
      isFinal: false,
    });
    expect(of("2026-01-01T12:00:09Z")).toMatchObject({ isFinal: true });
  });

  it.each([
    'rpc error: code = NotFound desc = failed to pull and unpack image "it": failed to resolve reference "it": it: not found',
    "rpc error: code = Unknown desc = reading manifest sha256:b in r.io/gateway: manifest unknown",
    "manifest for r.io/gateway@sha256:b not found: manifest unknown: manifest unknown",
    "failed to resolve reference: unexpected status from HEAD request: 404 Not Found",
    'Back-off pulling image "it": ErrImagePull: it: not found',
    "name unknown: repository name not known to registry",
  ])("waits for an image with a digest, however it is called missing: %s", (message) => {
    const pod = waiting("ErrImagePull", message);
    const image = `r.io/gateway@sha256:${"b".repeat(64)}`;
    const pinned = { ...pod, spec: { ...pod.spec, containers: [{ name: "gateway", image }] } };
    const at = (seconds: number, of = pinned) =>
      findFault(of, atMs, { nowMs: atMs + seconds * 1_000, imageWaitMs: 120_000 });

    expect(at(119)).toMatchObject({ isFinal: false });
    expect(at(120)).toMatchObject({
      isFinal: true,
      reason: expect.stringMatching(/^image_not_found/),
    });
    expect(at(0, pod)).toMatchObject({ isFinal: true });
  });

  it("waits for an image from when its pod was made, if that was later", () => {
    const pod = waiting("ErrImagePull", "not found");
    const image = `r.io/gateway:v2@sha256:${"b".repeat(64)}`;
    const later = {
      ...pod,
      metadata: { ...pod.metadata, creationTimestamp: "2026-01-01T12:10:00Z" },
      spec: { ...pod.spec, containers: [{ name: "gateway", image }] },
    };

    const at = (minutes: number) =>
      findFault(later, atMs, { nowMs: atMs + minutes * 60_000, imageWaitMs: 120_000 })?.isFinal;

    expect([at(11), at(12)]).toEqual([false, true]);
  });

  it.each([
    [
      "image_auth",
      waiting(
        "ErrImagePull",
        'exec: "docker-credential-ecr-login": executable file not found in $PATH',
      ),
    ],
    [
      "image_auth",
      waiting("ErrImagePull", "failed to fetch oauth token: unexpected status: 404 Not Found"),
    ],
    ["start_error", waiting("CreateContainerError", "context deadline exceeded")],
    ["start_error", waiting("CreateContainerError", 'name "gw_0" is reserved for "c8"')],
  ])("calls nothing final that may pass: %s", (code, pod) => {
    expect(findFault(pod, 0)).toMatchObject({
      isFinal: false,
      reason: expect.stringMatching(new RegExp(`^${code}: `)),
    });
  });

  it.each([
    ["is being created", waiting("ContainerCreating")],
    ["is ready", ofContainer({ ready: true, state: { running: {} } })],
    ["has no status yet", buildPod({})],
    ["has ended once and is started again", ofContainer({ state: ended(1) })],
  ])("finds none in a pod that %s", (_, pod) => {
    expect(findFault(pod, 0)).toBeUndefined();
  });

  it("takes no word of an image's name for a reason", () => {
    const pod = waiting("ErrImagePull", "r.io/oauth-credentials/access-denied:v2: not found");

    expect(findFault(pod, 0)).toMatchObject({
      isFinal: true,
      reason: expect.stringMatching(/^image_not_found/),
    });
  });

  it.each([
    ["invalid_image: no parse", true, waiting("InvalidImageName", "no parse")],
    ["image_not_found: manifest unknown", true, waiting("ErrImagePull", "manifest unknown")],
    [
      "image_platform: no matching manifest for linux/arm64",
      true,
      waiting("ErrImagePull", "no matching manifest for linux/arm64"),
    ],
    ["image_auth: pull access denied", false, waiting("ErrImagePull", "pull access denied")],
    [
      "registry_unavailable: toomanyrequests: not found in time",
      false,
      waiting("ErrImagePull", "toomanyrequests: not found in time"),
    ],
    ["registry_unavailable: i/o timeout", false, waiting("ErrImagePull", "i/o timeout")],
    ["pull_backoff: Back-off pulling", false, waiting("ImagePullBackOff", "Back-off pulling")],
    ["start_error: no such file", true, waiting("RunContainerError", "no such file")],
    ["config_invalid: no secret", false, waiting("CreateContainerConfigError", "no secret")],
    [
      "oom_killed: its memory limit was reached",
      true,
      ofContainer({ state: ended(137, "OOMKilled") }),
    ],
    [
      "crash_loop: exit code 2",
      false,
      ofContainer({ restartCount: 1, state: { running: {} }, lastState: ended(2) }),
    ],
    [
      "crash_loop: exit code 2",
      true,
      ofContainer({ restartCount: 2, state: { running: {} }, lastState: ended(2) }),
    ],
    [
      "start_error",
      true,
      ofContainer({
        restartCount: 1,
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: ended(128, "StartError"),
      }),
    ],
    [
      "unschedulable: no memory",
      false,
      buildPod({
        conditions: [
          { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "no memory" },
        ],
      }),
    ],
    ["probe_failing: gateway is not ready", false, ofContainer({ state: { running: {} } })],
  ])("finds %s (final: %s)", (reason, isFinal, pod) => {
    expect(findFault(pod, 0)).toEqual({ reason, isFinal });
  });

  it("finds what is wrong with a container that runs before the others", () => {
    const pod = buildPod({
      initContainerStatuses: [
        { name: "prepare", restartCount: 4, state: ended(9), lastState: ended(9) },
      ],
      containerStatuses: [{ name: "gateway", state: { waiting: { reason: "PodInitializing" } } }],
    });

    expect(findFault(pod, 0)).toEqual({ reason: "crash_loop: exit code 9", isFinal: true });
  });

  it("cleans and shortens what a cluster says", () => {
    const { reason = "" } =
      findFault(waiting("ErrImagePull", `\u001b[2J${"x".repeat(5_000)}`), 0) ?? {};

    expect(reason).toMatch(/^registry_unavailable: x+$/);
    expect(reason.length).toBeLessThan(250);
  });
});

it("worstFault prefers a fault that does not pass", () => {
  const pods = [waiting("ErrImagePull", "i/o timeout"), waiting("InvalidImageName", "it")];

  expect(worstFault(pods, 0)).toEqual({ reason: "invalid_image: it", isFinal: true });
});
