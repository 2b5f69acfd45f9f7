/** Reads the file with ids of names that cannot be looked up at the incident service. */
import { existsSync } from "node:fs";
import { z } from "zod";
import { readToml } from "#kernel/documents.ts";
import { faultLines } from "#kernel/faults.ts";

const Names = z.record(z.string(), z.string().min(1)).default({});

const IdsFile = z.strictObject({
  /** Ids by the name of a row of `sources`; the others are looked up by title. */
  sources: Names,
  /** Ids by label; the others are looked up by name. */
  attributes: Names,
  /** Ids by name; the others are looked up. */
  escalation_paths: Names,
  /** Ids by name with its `#`: the service has no list of them. */
  channels: Names,
  /** The service's names of operations; only the first two are in its reference. */
  operations: z
    .strictObject({
      one_of: z.string().default("one_of"),
      is_set: z.string().default("is_set"),
      none_of: z.string().default("not_one_of"),
      is_not_set: z.string().default("is_not_set"),
    })
    .prefault({}),
});
export type ConfiguredIds = z.infer<typeof IdsFile>;

/** An empty path: no ids are given. Throws with what is wrong with the file. */
export function readIdsFile(file: string): ConfiguredIds {
  if (file === "") return IdsFile.parse({});
  if (!existsSync(file)) throw new Error(`${file}, set as incident.ids_file, does not exist`);
  const result = IdsFile.safeParse(readToml(file));
  if (result.success) return result.data;
  throw new Error(`${file}: ${faultLines(result.error, "").join("; ")}`);
}
