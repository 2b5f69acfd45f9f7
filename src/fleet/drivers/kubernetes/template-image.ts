/** By which name a template's image is known: a policy may rewrite what we apply, and the API server answers with that. Pure. */
import { isSameContent } from "#kernel/image-reference.ts";
import { type Ours, ourselves } from "./change.ts";
import type { Generations } from "./generations.ts";
import { imageOf, isComplete, isReady, isSeen } from "./judge.ts";
import { changersOfImage, isAdmitted } from "./owners.ts";
import type { DeployRecord } from "./record.ts";
import type { Workload } from "./schemas.ts";

export type TemplateReading = {
  workload: Workload;
  record: DeployRecord | undefined;
  container: string;
  image: string;
  pods: Generations;
};

/** The template's image by the name that we have applied, while it is what the API server made of that. */
export function templateImage(
  workload: Workload,
  container: string,
  { ours, fieldManager }: { ours: Ours | undefined; fieldManager: string },
): string {
  const present = imageOf(workload, container);
  const { applied } = ours ?? {};
  if (applied?.container !== container) return present;
  const owners = changersOfImage(workload, container, ourselves({ fieldManager }, ours));
  return isAdmitted(present, { applied: applied.image, owners }) ? applied.image : present;
}

export function oursIn(record: DeployRecord | undefined): Ours | undefined {
  if (record === undefined) return undefined;
  const { container, manager, applied: image } = record;
  const applied = image === undefined ? undefined : { container, image };
  return { containers: [container], manager, applied };
}

/** The image that answers requests: until all of the new one are there it is the earlier one. */
export function servingImage(reading: TemplateReading): string {
  const { workload, record, container, image: present, pods } = reading;
  if (isComplete(workload)) return present;
  const before = record !== undefined && record.done !== true ? record.previous : present;
  if (!isSeen(workload)) return before;
  const earlier = pods.earlier.find(isReady);
  if (earlier === undefined) return pods.present.some(isReady) ? present : before;
  const image = earlier.spec.containers.find(({ name }) => name === container)?.image ?? before;
  return isSameContent(image, before) ? before : image;
}
