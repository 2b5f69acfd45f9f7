import { describe, expect, it } from "vitest";
import { isAvailable, isComplete } from "#fleet/drivers/kubernetes/judge.ts";
import { chooseContainer, hasMembers } from "#fleet/drivers/kubernetes/kinds.ts";
import { Workload, type WorkloadKind } from "#fleet/drivers/kubernetes/schemas.ts";

function build(resource: WorkloadKind, status: object, spec: object = {}): Workload {
  return Workload.parse({
    resource,
    metadata: { name: "gw", namespace: "edge", uid: "u", resourceVersion: "1", generation: 2 },
    spec: { replicas: 3, selector: {}, template: { spec: { containers: [] } }, ...spec },
    status: { observedGeneration: 2, ...status },
  });
}

const whole = { replicas: 3, updatedReplicas: 3, readyReplicas: 3 };
const onNodes = {
  desiredNumberScheduled: 3,
  currentNumberScheduled: 3,
  updatedNumberScheduled: 3,
  numberAvailable: 3,
};

describe("a set that replaces its pods by itself", () => {
  it.each<[string, Workload, boolean]>([
    ["a StatefulSet, whose server counts no available ones", build("statefulsets", whole), true],
    [
      "a StatefulSet with an old pod",
      build("statefulsets", { ...whole, updatedReplicas: 2 }),
      false,
    ],
    ["a StatefulSet whose counts are absent", build("statefulsets", {}), false],
    [
      "a StatefulSet with minReadySeconds, before they are over",
      build("statefulsets", { ...whole, availableReplicas: 2 }, { minReadySeconds: 5 }),
      false,
    ],
    ["a DaemonSet", build("daemonsets", onNodes), true],
    [
      "a DaemonSet with an old pod",
      build("daemonsets", { ...onNodes, updatedNumberScheduled: 2 }),
      false,
    ],
    ["a DaemonSet without nodes", build("daemonsets", {}), true],
    [
      "a change that is not seen yet",
      build("daemonsets", { ...onNodes, observedGeneration: 1 }),
      false,
    ],
  ])("is complete or not: %s", (_, workload, is) => {
    expect(isComplete(workload)).toBe(is);
  });

  it.each([
    [3, 3, true],
    [3, 2, true],
    [3, 1, false],
    [1, 1, true],
    [1, 0, false],
    [0, 0, true],
  ])(
    "of %i pods with %i that serve is healthy: %s",
    (desiredNumberScheduled, numberAvailable, is) => {
      expect(isAvailable(build("daemonsets", { desiredNumberScheduled, numberAvailable }))).toBe(
        is,
      );
    },
  );
});

it.each<[WorkloadKind, string | undefined, boolean]>([
  ["statefulsets", "OnDelete", true],
  ["daemonsets", "OnDelete", true],
  ["statefulsets", "RollingUpdate", false],
  ["statefulsets", undefined, false],
  ["deployments", "OnDelete", false],
])("the pods of %s with the strategy %s are sentinels: %s", (resource, type, is) => {
  const spec = type === undefined ? {} : { updateStrategy: { type } };

  expect(hasMembers(build(resource, {}, spec))).toBe(is);
});

function buildWorkload(names: string[], annotations = {}): Workload {
  return Workload.parse({
    metadata: { name: "gw", namespace: "edge", uid: "u", resourceVersion: "1" },
    spec: {
      selector: {},
      template: {
        metadata: { annotations },
        spec: { containers: names.map((name) => ({ name })) },
      },
    },
  });
}

const byDefault = { "kubectl.kubernetes.io/default-container": "b" };

it.each([
  ["the only one", ["a"], {}, "", "a"],
  ["none of two that nobody chooses", ["a", "b"], {}, "", undefined],
  ["the workload's default", ["a", "b"], byDefault, "", "b"],
  ["the setting's before the default", ["a", "b"], byDefault, "a", "a"],
  ["none when the setting's is not there", ["a"], {}, "z", undefined],
  ["none when the default is not there", ["a"], byDefault, "", undefined],
] as const)("is %s", (_, names, annotations, wanted, expected) => {
  expect(chooseContainer(buildWorkload([...names], annotations), wanted)).toBe(expected);
});
