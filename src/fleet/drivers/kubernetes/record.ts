/** What a workload's annotation says of its deploy: the state of a replacement, which any process can go on with. Pure. */
import { z } from "zod";

const key = "vedette.dev/deploy";

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

/** undefined: there is none, or one that somebody has changed. */
export function readRecord(
  annotations: Readonly<Record<string, string>>,
): DeployRecord | undefined {
  try {
    return DeployRecord.parse(JSON.parse(annotations[key] ?? ""));
  } catch {
    return undefined;
  }
}

/** All annotations of ours: what an apply leaves out it removes. */
export function writeRecord(record: DeployRecord): Record<string, string> {
  return { [key]: JSON.stringify(record) };
}
