/** Changes of a set's template and records: one after the other, each by the set as it is then. */
import pLimit, { type LimitFunction } from "p-limit";
import { type DriverCall, UnreachableError } from "#fleet/drivers/driver.ts";
import type { ChangeResult, Place } from "#fleet/drivers/kubernetes/calls.ts";
import { type ChangeParts, changeImage, ourselves } from "#fleet/drivers/kubernetes/change.ts";
import { imageOf } from "#fleet/drivers/kubernetes/judge.ts";
import { type ImageOwner, ownersOfImage } from "#fleet/drivers/kubernetes/owners.ts";
import type { Workload } from "#fleet/drivers/kubernetes/schemas.ts";
import { templateImage } from "#fleet/drivers/kubernetes/template-image.ts";
import { type MemberRecord, type MemberRecords, writeRecords } from "./records.ts";

/** `image`: for the template; absent: it keeps its own. */
export type MemberWrite = {
  place: Place;
  set: Workload;
  records: MemberRecords | undefined;
  member: string;
  record: MemberRecord;
  image?: string | undefined;
};

/** Takes the writes of one process in turn, so that they do not make each other read again. */
export function createTurns() {
  const turns = new Map<string, LimitFunction>();
  return <Result>({ resource, namespace, name }: Place, work: () => Promise<Result>) => {
    const key = `${resource}/${namespace}/${name}`;
    const turn = turns.get(key) ?? pLimit(1);
    turns.set(key, turn);
    return turn(work);
  };
}

/** Throws `UnreachableError` while there is no room for another record. */
export function writeRecord(
  { place, set, records, member, record, image }: MemberWrite,
  by: { parts: ChangeParts; call?: DriverCall },
): Promise<ChangeResult> {
  const { container } = record;
  const { fieldManager } = by.parts;
  const containers = new Set([...(records?.containers ?? []), container]);
  const members = { ...records?.members, [member]: record };
  const name = templateImage(set, container, { ours: records, fieldManager });
  const sent = image ?? name;
  const annotations = writeRecords({
    uid: set.metadata.uid,
    containers: [...containers],
    manager: fieldManager,
    applied: { container, image: sent },
    names: namesOf(records?.names ?? [], [imageOf(set, container), name], members),
    members,
  });
  if (annotations === undefined) {
    throw new UnreachableError("conflict: too many members of the set are being replaced");
  }
  const change = { place, workload: set, container, annotations, before: records };
  return changeImage({ ...change, image: sent }, by);
}

type ImageName = [image: string, name: string];

/** Returns the names of images of pods from before the template's next image, as long as a record has them. */
function namesOf(
  known: readonly ImageName[],
  now: ImageName,
  members: MemberRecords["members"],
): ImageName[] {
  const used = new Set(Object.values(members).flatMap(({ image, previous }) => [image, previous]));
  const others = known.filter(([image]) => image !== now[0]);
  return [...others, now].filter(([image, name]) => image !== name && used.has(name));
}

export function otherOwners(
  { set, records }: Pick<MemberWrite, "set" | "records">,
  { container, parts }: { container: string; parts: ChangeParts },
): ImageOwner[] {
  return ownersOfImage(set, container, ourselves(parts, records));
}
