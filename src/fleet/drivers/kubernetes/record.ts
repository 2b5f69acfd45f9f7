/** What a workload's annotations say of deploys: the state of a replacement, which any process can go on with. Pure. */
import { z } from "zod";

const prefix = "vedette.dev/deploy";

const DeployRecord = z.object({
  id: z.string(),
  image: z.string(),
  /** The last image that was not one of a failed deploy: what comes back when this one fails. */
  previous: z.string(),
  /** When it was ordered (Unix ms), by the clock of the API server. */
  atMs: z.number(),
  /** Why it has failed; the template has `previous` again since. Absent: it has not. */
  failed: z.string().optional(),
});
export type DeployRecord = z.infer<typeof DeployRecord>;

/** `member`: an ordinal or a node's name; absent: the workload is a sentinel itself. */
export function recordKey(member?: string): string {
  return member === undefined ? prefix : `${prefix}.${member}`;
}

/** undefined: there is none, or one that somebody has changed. */
export function readRecord(
  annotations: Readonly<Record<string, string>>,
  key: string,
): DeployRecord | undefined {
  try {
    return DeployRecord.parse(JSON.parse(annotations[key] ?? ""));
  } catch {
    return undefined;
  }
}

/** Every annotation of ours, with this record changed: what an apply leaves out it removes. */
export function withRecord(
  annotations: Readonly<Record<string, string>>,
  key: string,
  record: DeployRecord,
): Record<string, string> {
  const ours = Object.entries(annotations).filter(
    ([name]) => name === prefix || name.startsWith(`${prefix}.`),
  );
  return { ...Object.fromEntries(ours), [key]: JSON.stringify(record) };
}
