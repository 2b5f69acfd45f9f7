import { expect, it } from "vitest";
import { changersOfImage, ownersOfImage } from "#fleet/drivers/kubernetes/owners.ts";
import { Workload } from "#fleet/drivers/kubernetes/schemas.ts";

const fieldsOf = (container: string, field: string) => ({
  "f:spec": {
    "f:template": {
      "f:spec": { "f:containers": { [`k:{"name":"${container}"}`]: { ".": {}, [field]: {} } } },
    },
  },
});

function buildWorkload(managedFields: object[]): Workload {
  return Workload.parse({
    metadata: {
      name: "gw",
      namespace: "edge",
      uid: "u",
      resourceVersion: "1",
      managedFields,
    },
    spec: { selector: {}, template: { spec: { containers: [{ name: "gateway" }] } } },
  });
}

it("owners are those who have set this container's image, without ourselves", () => {
  const workload = buildWorkload([
    { manager: "vedette", operation: "Apply", fieldsV1: fieldsOf("gateway", "f:image") },
    { manager: "helm", operation: "Update", fieldsV1: fieldsOf("gateway", "f:image") },
    { manager: "argo\u0007cd", operation: "Apply", fieldsV1: fieldsOf("gateway", "f:image") },
    { manager: "other", operation: "Apply", fieldsV1: fieldsOf("proxy", "f:image") },
    { manager: "kubectl-scale", operation: "Update", fieldsV1: fieldsOf("gateway", "f:env") },
    { manager: "odd", operation: "Update", fieldsV1: "none" },
    { manager: "bare", operation: "Update" },
  ]);

  expect(ownersOfImage(workload, "gateway", ["vedette"])).toEqual([
    { manager: "helm", isApplied: false },
    { manager: "argo cd", isApplied: true },
  ]);
});

it("nobody has changed an image whose field is still ours, whoever else has it", () => {
  const [ours, theirs] = ["vedette", "kubectl-create"].map((manager) => ({
    manager,
    operation: "Update",
    fieldsV1: fieldsOf("gateway", "f:image"),
  }));

  const changersOf = (...fields: (object | undefined)[]) =>
    changersOfImage(buildWorkload(fields as object[]), "gateway", ["vedette"]);

  expect(changersOf(theirs)).toEqual([{ manager: "kubectl-create", isApplied: false }]);
  expect(changersOf(ours, theirs)).toEqual([]);
});
