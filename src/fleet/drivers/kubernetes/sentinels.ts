/** A sentinel is a whole workload or a member of a set: what a list says of either, and the operations that both have. */
import type {
  ApplyResult,
  DriverCall,
  ListedSentinel,
  LogCall,
  LogTail,
} from "#fleet/drivers/driver.ts";
import { boundLabels } from "#fleet/labels.ts";
import { isSameContent } from "#kernel/image-reference.ts";
import type { Place } from "./calls.ts";
import type { Target } from "./fleet.ts";
import { isAvailable, isComplete, isReady } from "./judge.ts";
import { chooseContainer, hasMembers } from "./kinds.ts";
import type { StepObservation } from "./look-again.ts";
import { livingPod, madeImage, membersOf, type SetLook, templateOf } from "./members/look.ts";
import { createMembers } from "./members/members.ts";
import { findRecord } from "./members/records.ts";
import { isOpen, readRecord } from "./record.ts";
import type { Workload } from "./schemas.ts";
import { oursIn, templateImage } from "./template-image.ts";
import { createWorkloads, type Order, placeOf, type WorkloadParts } from "./workload.ts";

export function createSentinels(parts: WorkloadParts) {
  const workloads = createWorkloads(parts);
  const members = createMembers(parts);
  return {
    /** All that a workload is. */
    async list(workload: Workload, signal?: AbortSignal): Promise<ListedSentinel[]> {
      if (!hasMembers(workload)) return [toListed(workload, parts)];
      return toListedMembers(await members.looks.ofSet(workload, signal), parts.container);
    },

    apply: ({ place, member }: Target, order: Order, call: DriverCall): Promise<ApplyResult> =>
      member === undefined
        ? workloads.apply(place, order, call)
        : members.apply({ set: place, member }, order, call),

    observe: (
      { place, member }: Target,
      order: Order,
      call: DriverCall,
    ): Promise<StepObservation> =>
      member === undefined
        ? workloads.observe(place, order, call)
        : members.observe({ set: place, member }, order, call),

    /** `deployId`: of what this deploy has started; absent: of what runs. */
    readLog: (
      { place, member }: Target,
      deployId: string | undefined,
      call: LogCall,
    ): Promise<LogTail> =>
      member === undefined
        ? readWorkloadLog(place, { deployId, call }, parts)
        : members.readLog({ set: place, member }, { deployId, call }),

    /** Ends what nobody asks about any more: its process has ended, or its deadline came first. */
    finish: (workload: Workload, signal: AbortSignal): Promise<void> =>
      hasMembers(workload)
        ? members.finish(placeOf(workload), signal)
        : workloads.finish(workload, signal),
  };
}

/** `deployId`: of what this deploy has started; absent: of what runs. */
async function readWorkloadLog(
  place: Place,
  { deployId, call }: { deployId: string | undefined; call: LogCall },
  { calls, container }: Pick<WorkloadParts, "calls" | "container">,
): Promise<LogTail> {
  const workload = await calls.read(place, call.signal);
  if (workload === undefined) return { absent: "there is no such workload" };
  const record = readRecord(workload);
  if (deployId !== undefined && (record?.id !== deployId || record.failed !== undefined)) {
    return { absent: "its pods have been removed" };
  }
  const { present, earlier } = await calls.pods(workload, call.signal);
  const name = chooseContainer(workload, container) ?? record?.container ?? "";
  if (deployId !== undefined) return calls.log(present, name, call);
  const all = [...present, ...earlier];
  const serving = all.filter(isReady);
  return calls.log(serving.length > 0 ? serving : all, name, call);
}

const regionLabel = "topology.kubernetes.io/region";

function toListed(workload: Workload, parts: ListParts): ListedSentinel {
  const record = readRecord(workload);
  const container = chooseContainer(workload, parts.container) ?? "";
  const image = templateImage(workload, container, { ...parts, ours: oursIn(record) });
  const isUnderWay = isOpen(record) && isSameContent(image, record.image) && !isComplete(workload);
  return {
    ...aboutOf(workload),
    image,
    running_image: isUnderWay ? record.previous : image,
    healthy: isAvailable(workload),
  };
}

/** `container`: as the setting names it; empty: the workload says which. */
type ListParts = Pick<WorkloadParts, "container" | "fieldManager">;

/** Each with what its own pod runs: the template is the same for all. */
function toListedMembers(look: SetLook, container: string): ListedSentinel[] {
  const about = aboutOf(look.set);
  const ofSet = chooseContainer(look.set, container) ?? "";
  const kind = look.set.resource === "daemonsets" ? "node" : "ordinal";
  return membersOf(look).map((member) => {
    const record = findRecord(look.records, member);
    const open = record?.ended === true ? undefined : record;
    const running = madeImage(look, member, open?.container ?? ofSet);
    const isOrdered = open !== undefined && open.failed === undefined;
    const image = isOrdered ? open.image : running || templateOf(look, ofSet);
    const pod = livingPod(look, member);
    return {
      ...about,
      id: `${about.id}/${member}`,
      image,
      running_image: running || open?.previous || image,
      healthy: pod !== undefined && isReady(pod),
      labels: boundLabels({ ...about.labels, [kind]: member }),
    };
  });
}

function aboutOf({ metadata: { namespace, name, labels } }: Workload) {
  return {
    id: `${namespace}/${name}`,
    region: labels[regionLabel] ?? labels["vedette.region"] ?? namespace,
    labels: boundLabels({ ...labels, namespace }),
  };
}
