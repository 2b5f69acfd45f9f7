/** What the fleet's list says of a workload, and of the members of a set. Pure. */
import type { ListedSentinel } from "#fleet/drivers/driver.ts";
import { boundLabels } from "#fleet/labels.ts";
import { isSameContent } from "#kernel/image-reference.ts";
import { chooseContainer } from "./container.ts";
import { isAvailable, isComplete, isReady } from "./judge.ts";
import { livingPod, madeImage, membersOf, type SetLook, templateOf } from "./members/look.ts";
import { findRecord } from "./members/records.ts";
import { isOpen, readRecord } from "./record.ts";
import type { Workload } from "./schemas.ts";
import { oursIn, templateImage } from "./template-image.ts";
import type { WorkloadParts } from "./workload.ts";

const regionLabel = "topology.kubernetes.io/region";

export function toListed(workload: Workload, parts: ListParts): ListedSentinel {
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
export function toListedMembers(look: SetLook, container: string): ListedSentinel[] {
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
