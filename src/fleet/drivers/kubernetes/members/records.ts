/** Records of the members' deploys, in one annotation of the set: each write needs the set as it was read. Pure. */
import { z } from "zod";
import { parseAnnotation } from "#fleet/drivers/kubernetes/record.ts";
import type { Workload } from "#fleet/drivers/kubernetes/schemas.ts";
import { listOf } from "#kernel/setting.ts";

const key = "vedette.dev/members";
/** An object's annotations have 256 KiB together. */
const maxBytes = 131_072;
/** More than there is room for. */
const most = 10_000;
const leftOutAtOnce = 16;

const MemberRecord = z.object({
  id: z.string(),
  image: z.string(),
  /** The image before, unless it was of a failed deploy: it comes back when this one fails. */
  previous: z.string(),
  container: z.string(),
  /** The times of the order and of its failure (Unix ms). */
  atMs: z.number(),
  failedAtMs: z.number().optional(),
  /** Why it has failed: from then on its pod has to run `previous`. */
  failed: z.string().optional(),
  /** Nothing is left to be done: what becomes of the member later is no matter of this deploy. */
  ended: z.boolean().optional(),
});
export type MemberRecord = z.infer<typeof MemberRecord>;

const MemberRecords = z.object({
  /** The id of the set: a copy of one has its annotations, but not its deploys. */
  uid: z.string(),
  /** The containers whose images we have set, and the field manager that has: settings may have changed since. */
  containers: listOf(z.string(), most),
  manager: z.string(),
  /** The template's image that was sent last; an admission policy may have changed it. */
  applied: z.object({ container: z.string(), image: z.string() }).optional(),
  /** The images that such a policy has made, each with the name that was sent. */
  names: listOf(z.tuple([z.string(), z.string()]), most).optional(),
  members: z
    .looseObject({})
    .transform((given): unknown[] => Object.entries(given))
    .pipe(listOf(z.tuple([z.string(), MemberRecord]), most))
    .transform((entries): Record<string, MemberRecord> => Object.fromEntries(entries)),
});
export type MemberRecords = z.infer<typeof MemberRecords>;

/** undefined: there are none, or somebody has changed them. */
export function readRecords({ metadata }: Pick<Workload, "metadata">): MemberRecords | undefined {
  const { data } = MemberRecords.safeParse(parseAnnotation(metadata, key));
  return data?.uid === metadata.uid ? data : undefined;
}

export function findRecord(
  records: MemberRecords | undefined,
  member: string,
): MemberRecord | undefined {
  const { members = {} } = records ?? {};
  return Object.hasOwn(members, member) ? members[member] : undefined;
}

/** All annotations of ours; undefined: there is no room for them. The oldest that have ended make room for others. */
export function writeRecords(records: MemberRecords): Record<string, string> | undefined {
  const ended = Object.entries(records.members)
    .filter(([, record]) => record.ended === true)
    .toSorted(([, one], [, other]) => one.atMs - other.atMs);
  const members = { ...records.members };
  for (;;) {
    const text = JSON.stringify({ ...records, members });
    if (Buffer.byteLength(text) <= maxBytes) return { [key]: text };
    const oldest = ended.splice(0, leftOutAtOnce);
    if (oldest.length === 0) return undefined;
    for (const [member] of oldest) delete members[member];
  }
}

/** Returns the image that its pod has to run now. */
export function targetOf({ failed, image, previous }: MemberRecord): string {
  return failed === undefined ? image : previous;
}

/** The least time for the return to the previous image, however short deploys may be. */
const leastBackMs = 600_000;

/** Until when its pod may take to run that (Unix ms). `readyTimeoutMs`: how long a deploy has. */
export function endMsOf(record: MemberRecord, readyTimeoutMs: number): number {
  return record.failedAtMs === undefined
    ? record.atMs + readyTimeoutMs
    : record.failedAtMs + Math.max(readyTimeoutMs, leastBackMs);
}
