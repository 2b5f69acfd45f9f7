import { expect, it } from "vitest";
import { chooseContainer } from "#fleet/drivers/kubernetes/container.ts";
import { Workload } from "#fleet/drivers/kubernetes/schemas.ts";

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
