/** What a scheduler and a kubelet do with pods, at a fraction of their time: each becomes what its image's fate says. */
import type { KubeObject, Objects } from "./objects.ts";
import { fateOf, type PodFate, type PodStatus, startedAt } from "./pod-states.ts";

export type KubeletPace = {
  /** Until a pod of a good image is ready. */
  readyMs: number;
  /** Until a pod that is asked to end has ended. */
  endMs: number;
};

export type Later = (ms: number, act: () => void) => void;

export const now = () => new Date().toISOString().replace(/\.\d+/, "");

/** Timers that end with whoever has set them. */
export function createTimers(): { later: Later; stop: () => void } {
  const timers = new Set<NodeJS.Timeout>();
  return {
    later: (ms, act) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        act();
      }, ms);
      timers.add(timer);
    },
    stop: () => {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

export function startKubelet(objects: Objects, { readyMs, endMs }: KubeletPace): () => void {
  const { later: after, stop } = createTimers();
  const ending = new Set<string>();

  /** The same pod: the next one of a StatefulSet has its name. */
  const present = ({ metadata }: KubeObject) => {
    const found = objects.get({ resource: "pods", ...metadata });
    return found?.metadata.uid === metadata.uid ? found : undefined;
  };

  /** One state after the other: timers of a busy process may fire in another order than they are due. */
  const run = (pod: KubeObject, [next, ...later]: PodFate): void => {
    if (next === undefined) return;
    after(next.afterMs, () => {
      const found = present(pod);
      if (found === undefined) return;
      objects.put("pods", { ...found, status: namedFor(next.status, found) });
      run(pod, later);
    });
  };

  const end = (pod: KubeObject): void => {
    if (ending.has(pod.metadata.uid)) return;
    ending.add(pod.metadata.uid);
    after(endMs, () => {
      if (present(pod) !== undefined) objects.remove({ resource: "pods", ...pod.metadata });
    });
  };

  const stopWatching = objects.watch(0, ({ type, resource, object }) => {
    if (resource !== "pods" || type === "DELETED") return;
    if (type === "ADDED") run(object, fateOf(imagesOf(object)[0] ?? "", readyMs));
    if (isEnding(object)) end(object);
  });

  return () => {
    stopWatching();
    stop();
  };
}

/** Asks for a pod's end, as a DELETE does. */
export function askToEnd(objects: Objects, pod: KubeObject): void {
  if (isEnding(pod)) return;
  const metadata = { ...pod.metadata, deletionTimestamp: now(), deletionGracePeriodSeconds: 30 };
  objects.put("pods", { ...pod, metadata });
}

export function isEnding({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Of a phase that no pod leaves: its controller counts it no more. */
export function isEnded({ status }: KubeObject): boolean {
  return ["Failed", "Succeeded"].includes(status?.phase);
}

export function isReady({ status }: KubeObject): boolean {
  return status?.conditions?.some(
    (one: { type: string; status: string }) => one.type === "Ready" && one.status === "True",
  );
}

export function imagesOf({ spec }: Pick<KubeObject, "spec">): string[] {
  return spec.containers.map(({ image }: { image: string }) => image);
}

export function isOwnedBy({ metadata }: KubeObject, uid: string): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

/** The kubelet's words for this pod's own container. */
function namedFor(status: PodStatus, pod: KubeObject): PodStatus {
  const [container] = pod.spec.containers;
  const timed: PodStatus = JSON.parse(JSON.stringify(status).replaceAll(startedAt, now()));
  const named = timed.containerStatuses?.map((one) => ({
    ...one,
    name: container.name,
    image: container.image,
  }));
  return { ...timed, ...(named && { containerStatuses: named }) };
}
