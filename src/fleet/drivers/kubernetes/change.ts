/** A change of a workload's image and of our annotations, if the workload is still as it was read. */
import type { DriverCall } from "#fleet/drivers/driver.ts";
import type { Calls, ChangeResult, Place } from "./calls.ts";
import { imageOf } from "./judge.ts";
import { ownersOfImage } from "./owners.ts";
import type { Workload } from "./schemas.ts";

export type ChangeParts = {
  calls: Calls;
  fieldManager: string;
  /** Takes the image from those who apply it, too. */
  isForced: boolean;
};

export type ImageChange = {
  place: Place;
  workload: Workload;
  container: string;
  image: string;
  /** All of ours: what an apply leaves out it removes. */
  annotations: Record<string, string>;
  /** The containers that we have set so far, and the field manager's name for it. */
  before: Ours | undefined;
};

export type Ours = {
  containers: readonly string[];
  manager: string;
  /** The image that was sent last. */
  applied?: { container: string; image: string } | undefined;
};

export function changeImage(
  { place, workload, container, image, annotations, before }: ImageChange,
  { parts, call }: { parts: ChangeParts; call?: DriverCall },
): Promise<ChangeResult> {
  const owners = ownersOfImage(workload, container, ourselves(parts, before));
  const kept = (before?.containers ?? []).filter((name) => name !== container);
  return parts.calls.apply(
    {
      place,
      resourceVersion: workload.metadata.resourceVersion,
      annotations,
      containers: [{ name: container, image }, ...kept.flatMap((name) => imageIn(workload, name))],
      // Whoever has written it once leaves it to the next who writes. One who applies it would set it back.
      isForced: parts.isForced || owners.every(({ isApplied }) => !isApplied),
    },
    call,
  );
}

/** The field managers that we are, or were. */
export function ourselves(
  { fieldManager }: Pick<ChangeParts, "fieldManager">,
  before: Ours | undefined,
): string[] {
  return before === undefined ? [fieldManager] : [fieldManager, before.manager];
}

/** Repeats the image of a container that the setting named before: an apply removes everything that it leaves out. */
function imageIn(workload: Workload, container: string) {
  const image = imageOf(workload, container);
  return image === "" ? [] : [{ name: container, image }];
}
