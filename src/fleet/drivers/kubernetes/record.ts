/** The record of a deploy in a workload's annotation: any process can continue the replacement. Pure. */
import { z } from "zod";
import { parseJson } from "#kernel/body.ts";
import type { Workload } from "./schemas.ts";

const key = "vedette.dev/deploy";

const DeployRecord = z.object({
  id: z.string(),
  /** The id of the workload: a copy of one has its annotations, but not its deploy. */
  uid: z.string(),
  image: z.string(),
  /** The last image that was not one of a failed deploy: what comes back when this one fails. */
  previous: z.string(),
  /** The container whose image it is, and the field manager that has set it: settings may have changed since. */
  container: z.string(),
  manager: z.string(),
  /** The image that was sent last: a policy may have given it another name, and it is ours all the same. */
  applied: z.string().optional(),
  /** The time of the order (Unix ms). */
  atMs: z.number(),
  /** It was ready: what becomes of the workload later is no matter of this deploy. */
  done: z.boolean().optional(),
  /** Why it has failed; the template has `previous` again since. Absent: it has not. */
  failed: z.string().optional(),
});
export type DeployRecord = z.infer<typeof DeployRecord>;

/** undefined: there is none, or one that somebody has changed. */
export function readRecord({ metadata }: Pick<Workload, "metadata">): DeployRecord | undefined {
  const { data } = DeployRecord.safeParse(parseAnnotation(metadata, key));
  return data?.uid === metadata.uid ? data : undefined;
}

/** More than the records of ours have, in characters, and in values. */
const mostWritten = { chars: 131_072, values: 20_000 };

/** JSON in an annotation of ours, which others may have changed; a cluster that lies gives one of any length. */
export function parseAnnotation({ annotations }: Workload["metadata"], name: string): unknown {
  const text = annotations[name] ?? "";
  return text.length > mostWritten.chars
    ? undefined
    : parseJson(Buffer.from(text), mostWritten.values);
}

/** True if its end is not known yet. */
export function isOpen(record: DeployRecord | undefined): record is DeployRecord {
  return record !== undefined && record.done !== true && record.failed === undefined;
}

/** All annotations of ours: what an apply leaves out it removes. */
export function writeRecord(record: DeployRecord): Record<string, string> {
  return { [key]: JSON.stringify(record) };
}
