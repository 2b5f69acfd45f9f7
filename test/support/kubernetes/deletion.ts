/** The ends of objects: deletions, and evictions of pods, which a PodDisruptionBudget may forbid. */
import {
  type Answer,
  type Asked,
  findRefusal,
  isDryRun,
  notFound,
  type Parts,
  refusal,
} from "./asked.ts";
import { askToEnd, isEnding, isReady } from "./kubelet.ts";
import type { KubeObject, Objects } from "./objects.ts";

type DeleteOptions = { preconditions?: { uid?: string }; gracePeriodSeconds?: number };

/** A pod has time to end; it is gone when its kubelet says so. */
export function remove(asked: Asked, found: KubeObject, objects: Objects): Answer {
  const options: DeleteOptions = asked.body === "" ? {} : JSON.parse(asked.body);
  const refused = refuseOther(asked, found, options);
  if (refused !== undefined || isDryRun(asked)) return refused ?? { status: 200, body: found };
  if (asked.resource !== "pods" || options.gracePeriodSeconds === 0) objects.remove(asked);
  else askToEnd(objects, found);
  return { status: 200, body: objects.get(asked) ?? found };
}

export function evict(asked: Asked, { objects, faults }: Parts): Answer {
  const body = JSON.parse(asked.body);
  const refused = findRefusal(asked, body, faults);
  if (refused !== undefined) return refused;
  const pod = objects.get({ ...asked, resource: "pods" });
  if (pod === undefined) return notFound({ ...asked, resource: "pods" });
  const forbidden =
    refuseOther(asked, pod, body.deleteOptions ?? {}) ?? refuseByBudget(pod, objects);
  if (forbidden !== undefined) return forbidden;
  askToEnd(objects, pod);
  return { status: 201, body: { kind: "Status", apiVersion: "v1", status: "Success", code: 201 } };
}

/** An object that has the same name, and is not the one that was meant; in Kubernetes' words. */
function refuseOther(
  { name }: Asked,
  { kind, metadata }: KubeObject,
  { preconditions }: DeleteOptions,
): Answer | undefined {
  const uid = preconditions?.uid ?? metadata.uid;
  if (uid === metadata.uid) return undefined;
  const words = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid})`;
  return refusal(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${kind} "${name}": ${words}. The object might have been deleted and then recreated`,
  );
}

/** By a budget with `minAvailable`: those that are ready beyond it may go, and those that are not while it is kept. */
function refuseByBudget(pod: KubeObject, objects: Objects): Answer | undefined {
  const { namespace } = pod.metadata;
  const budgets = objects
    .list("poddisruptionbudgets", namespace)
    .filter(({ spec }) => isSelectedBy(pod, spec.selector.matchLabels));
  const [budget, second] = budgets;
  if (budget === undefined || isEnding(pod)) return undefined;
  if (second !== undefined) {
    const words =
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    return refusal(500, "InternalError", words);
  }
  const { minAvailable, selector } = budget.spec;
  const healthy = objects.list(
    "pods",
    namespace,
    (one) => isSelectedBy(one, selector.matchLabels) && isReady(one) && !isEnding(one),
  ).length;
  if (isReady(pod) ? healthy > minAvailable : healthy >= minAvailable) return undefined;
  const message = `The disruption budget ${budget.metadata.name} needs ${minAvailable} healthy pods and has ${healthy} currently`;
  const words = "Cannot evict pod as it would violate the pod's disruption budget.";
  return refusal(429, "TooManyRequests", words, [{ reason: "DisruptionBudget", message }]);
}

function isSelectedBy({ metadata }: KubeObject, labels: Record<string, string>): boolean {
  return Object.entries(labels).every(([name, value]) => metadata.labels?.[name] === value);
}
