/** Kubernetes' own schemas of what the double keeps (from its OpenAPI, by the package `kubernetes-models`). */
import { validate as validateDeployment } from "kubernetes-models/_schemas/IoK8sApiAppsV1Deployment";
import { validate as validateReplicaSet } from "kubernetes-models/_schemas/IoK8sApiAppsV1ReplicaSet";
import { validate as validatePod } from "kubernetes-models/_schemas/IoK8sApiCoreV1Pod";

type Validate = ((object: unknown) => boolean) & {
  errors?: { instancePath: string; message?: string }[] | null;
};

const validators: Record<string, unknown> = {
  deployments: validateDeployment,
  replicasets: validateReplicaSet,
  pods: validatePod,
};

/** Where an object breaks its schema, a line each. */
export function findSchemaFaults(resource: string, object: unknown): string[] {
  const validate = validators[resource] as Validate;
  if (validate(object)) return [];
  return (validate.errors ?? []).map((one) => `${one.instancePath}: ${one.message ?? "wrong"}`);
}
