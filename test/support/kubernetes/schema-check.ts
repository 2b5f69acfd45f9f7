/** Kubernetes' own schemas of what the double keeps (from its OpenAPI, by the package `kubernetes-models`). */
import { validate as validateRevision } from "kubernetes-models/_schemas/IoK8sApiAppsV1ControllerRevision";
import { validate as validateDaemonSet } from "kubernetes-models/_schemas/IoK8sApiAppsV1DaemonSet";
import { validate as validateDeployment } from "kubernetes-models/_schemas/IoK8sApiAppsV1Deployment";
import { validate as validateReplicaSet } from "kubernetes-models/_schemas/IoK8sApiAppsV1ReplicaSet";
import { validate as validateStatefulSet } from "kubernetes-models/_schemas/IoK8sApiAppsV1StatefulSet";
import { validate as validatePod } from "kubernetes-models/_schemas/IoK8sApiCoreV1Pod";
import { validate as validateEarlyEviction } from "kubernetes-models/_schemas/IoK8sApiPolicyV1beta1Eviction";
import { validate as validateEviction } from "kubernetes-models/_schemas/IoK8sApiPolicyV1Eviction";

type Validate = ((object: unknown) => boolean) & {
  errors?: { instancePath: string; message?: string }[] | null;
};

const validators: Record<string, unknown> = {
  deployments: validateDeployment,
  statefulsets: validateStatefulSet,
  daemonsets: validateDaemonSet,
  controllerrevisions: validateRevision,
  "pods/eviction": validateEviction,
  "pods/eviction of policy/v1beta1": validateEarlyEviction,
  replicasets: validateReplicaSet,
  pods: validatePod,
};

/** Where an object breaks its schema, a line each. */
export function findSchemaFaults(resource: string, object: unknown): string[] {
  const { apiVersion } = object as { apiVersion?: string };
  const validate = (validators[`${resource} of ${apiVersion}`] ?? validators[resource]) as Validate;
  if (validate(object)) return [];
  return (validate.errors ?? []).map((one) => `${one.instancePath}: ${one.message ?? "wrong"}`);
}
