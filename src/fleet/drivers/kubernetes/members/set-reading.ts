/** The state of a set at one moment, and its pods by member. Pure. */
import type { Place } from "#fleet/drivers/kubernetes/calls.ts";
import { imageMadeOf, lasts } from "#fleet/drivers/kubernetes/generations.ts";
import { imageOf, isReady } from "#fleet/drivers/kubernetes/judge.ts";
import type { Pod, Revision, Workload } from "#fleet/drivers/kubernetes/schemas.ts";
import { templateImage } from "#fleet/drivers/kubernetes/template-image.ts";
import { isSameContent } from "#kernel/image-reference.ts";
import { type MemberRecord, type MemberRecords, readRecords } from "./records.ts";

export type MemberPlace = { set: Place; member: string };

export type SetReading = {
  set: Workload;
  records: MemberRecords | undefined;
  /** Its own, by member. Of two the one that lasts. */
  pods: ReadonlyMap<string, Pod>;
  revisions: readonly Revision[];
  manager: string;
};

/** More than a set has: each is a sentinel, and kept as one. */
const mostMembers = 5_000;

export function buildSetReading(
  set: Workload,
  { pods, revisions }: { pods: readonly Pod[]; revisions: readonly Revision[] },
  manager = "",
): SetReading {
  const byMember = new Map<string, Pod>();
  for (const pod of pods) {
    const member = memberOf(set, pod);
    if (member === undefined) continue;
    const other = byMember.get(member);
    if (other === undefined || !lasts(other)) byMember.set(member, pod);
  }
  return { set, records: readRecords(set), pods: byMember, revisions, manager };
}

/** The set read again, its pods as they were. */
export function renewSet(reading: SetReading, set: Workload): SetReading {
  return { ...reading, set, records: readRecords(set) };
}

/** By their names: the ordinals of a StatefulSet, the nodes on which a DaemonSet has a pod. */
export function membersOf({ set, records, pods }: SetReading): string[] {
  if (set.resource === "statefulsets") {
    const { replicas, ordinals } = set.spec;
    const start = ordinals?.start ?? 0;
    const size = Math.min(replicas ?? 1, mostMembers);
    return Array.from({ length: size }, (_, n) => String(start + n));
  }
  // While its pod is replaced a node has none.
  const open = Object.entries(records?.members ?? {}).filter(([, { ended }]) => ended !== true);
  const nodes = new Set([...pods.keys(), ...open.map(([member]) => member)]);
  return [...nodes].toSorted().slice(0, mostMembers);
}

/** undefined: it has none that lasts. */
export function livingPod({ pods }: SetReading, member: string): Pod | undefined {
  const pod = pods.get(member);
  return pod !== undefined && lasts(pod) ? pod : undefined;
}

export function templateOf({ set, records, manager }: SetReading, container: string): string {
  return templateImage(set, container, { ours: records, fieldManager: manager });
}

/** The image of the template that a member's pod was made of, by our name for it; "" without a pod. */
export function madeImage(reading: SetReading, member: string, container: string): string {
  const { revisions, set, records } = reading;
  const pod = reading.pods.get(member);
  if (pod === undefined) return "";
  const made = imageMadeOf(pod, { container, revisions });
  if (made === imageOf(set, container)) return templateOf(reading, container);
  return records?.names?.find(([image]) => image === made)?.[1] ?? made;
}

/** True if a pod that lasts was made of this image's template. */
export function isMadeOf(
  reading: SetReading,
  member: string,
  of: Pick<MemberRecord, "container"> & { image: string },
): boolean {
  const isThere = livingPod(reading, member) !== undefined;
  return isThere && isSameContent(madeImage(reading, member, of.container), of.image);
}

/** The lowest unready member below: until it is ready an OrderedReady set makes no pod for this one. undefined: none. */
export function findBlocker(reading: SetReading, member: string): string | undefined {
  const { resource, spec } = reading.set;
  if (resource !== "statefulsets" || spec.podManagementPolicy === "Parallel") return undefined;
  return membersOf(reading).find((other) => {
    const pod = livingPod(reading, other);
    return Number(other) < Number(member) && (pod === undefined || !isReady(pod));
  });
}

function memberOf(set: Workload, pod: Pod): string | undefined {
  if (set.resource === "daemonsets") return nodeOf(pod);
  const start = `${set.metadata.name}-`;
  const ordinal = pod.metadata.name.slice(start.length);
  return pod.metadata.name.startsWith(start) && /^\d+$/.test(ordinal) ? ordinal : undefined;
}

/** A pod that is not scheduled yet names its node by an affinity. */
function nodeOf({ spec: { nodeName, affinity } }: Pod): string | undefined {
  if (nodeName !== "") return nodeName;
  const { nodeSelectorTerms = [] } =
    affinity?.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution ?? {};
  const fields = nodeSelectorTerms.flatMap(({ matchFields }) => matchFields);
  return fields.find(({ key }) => key === "metadata.name")?.values[0];
}
