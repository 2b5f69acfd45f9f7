/** What a controller manager does with StatefulSets and DaemonSets, at a fraction of its time. */
import { kinds } from "./asked.ts";
import { type Admit, admitPod, hashOf } from "./deployment-controller.ts";
import { askToEnd, createTimers, isOwnedBy } from "./kubelet.ts";
import type { KubeObject, Objects, WatchEvent } from "./objects.ts";
import {
  buildPod,
  buildRevision,
  labelOf,
  revisionOf,
  statusOfDaemons,
  statusOfStateful,
} from "./set-objects.ts";
import { stepsOfDaemons, stepsOfStateful } from "./set-steps.ts";

export type SetPace = {
  /** Until the controller has seen a change. */
  observeMs: number;
  /** Each has a pod of every DaemonSet. */
  nodes: readonly string[];
  admit: Admit;
};

const resources = ["statefulsets", "daemonsets"] as const;
type Resource = (typeof resources)[number];

export function startSetController(
  objects: Objects,
  { observeMs, nodes, admit }: SetPace,
): () => void {
  const { later, stop } = createTimers();
  const due = new Set<string>();

  const podsOf = ({ metadata }: KubeObject) =>
    objects.list("pods", metadata.namespace, (pod) => isOwnedBy(pod, metadata.uid));

  const writeStatus = (resource: Resource, of: KubeObject, update: string): void => {
    const set = objects.get({ resource, ...of.metadata });
    if (set === undefined) return;
    const status =
      resource === "statefulsets"
        ? statusOfStateful(set, podsOf(set), update)
        : statusOfDaemons(set, podsOf(set), { update, wanted: nodes.length });
    const isSame = JSON.stringify(status) === JSON.stringify(set.status);
    if (!isSame) objects.put(resource, { ...set, status });
  };

  const reconcile = (resource: Resource, of: KubeObject): void => {
    const set = objects.get({ resource, ...of.metadata });
    if (set?.metadata.uid !== of.metadata.uid) return;
    const update = renewRevision(objects, set);
    const { make, end } =
      resource === "statefulsets"
        ? stepsOfStateful(set, podsOf(set), update)
        : stepsOfDaemons(set, podsOf(set), { update, nodes });
    for (const one of make) {
      const pod = buildPod(set, { ...one, template: templateOf(objects, set, one.hash) });
      objects.put("pods", admitPod(pod, admit));
    }
    for (const pod of end) askToEnd(objects, pod);
    writeStatus(resource, set, update);
  };

  /** Once for all that happens until then. */
  const soon = (resource: Resource, set: KubeObject, ms: number): void => {
    const key = `${set.metadata.uid}/${ms}`;
    if (due.has(key)) return;
    due.add(key);
    later(ms, () => {
      due.delete(key);
      reconcile(resource, set);
    });
  };

  const stopWatching = objects.watch(0, (event) => {
    const { type, resource, object } = event;
    const own = resources.find((one) => one === resource);
    if (own !== undefined && type !== "DELETED" && !isSeen(object)) soon(own, object, observeMs);
    const owner = ownerOf(objects, event);
    if (owner !== undefined) soon(owner.resource, owner.set, 1);
  });

  return () => {
    stopWatching();
    stop();
  };
}

function isSeen({ metadata, status }: KubeObject): boolean {
  return status?.observedGeneration === (metadata.generation ?? 1);
}

/** The set whose pod it is. */
function ownerOf(objects: Objects, { resource: of, object }: WatchEvent) {
  const owner = of === "pods" ? object.metadata.ownerReferences?.[0] : undefined;
  const resource = resources.find((one) => kinds[one] === owner?.kind);
  if (owner === undefined || resource === undefined) return undefined;
  const { namespace } = object.metadata;
  const set = objects.get({ resource, namespace, name: owner.name });
  return set === undefined ? undefined : { resource, set };
}

/** The newest is that of the present template; a template that was there before keeps its revision's name. */
function renewRevision(objects: Objects, set: KubeObject): string {
  const { namespace, uid } = set.metadata;
  const all = objects.list("controllerrevisions", namespace, (one) => isOwnedBy(one, uid));
  const newest = Math.max(0, ...all.map(revisionOf));
  const made = buildRevision(set, newest + 1);
  const own = all.find(({ metadata }) => metadata.name === made.metadata.name);
  if (own === undefined || revisionOf(own) < newest) objects.put("controllerrevisions", made);
  return labelOf(set, hashOf(set.spec.template));
}

function templateOf(objects: Objects, set: KubeObject, hash: string): KubeObject["spec"] {
  const resource = "controllerrevisions";
  const found = objects.get({ resource, namespace: set.metadata.namespace, name: hash });
  return found?.data.spec.template ?? set.spec.template;
}
