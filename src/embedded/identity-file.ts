/** A process written down in a file, so that a later start finds out whether it still runs. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import type { ProcessIdentity } from "#kernel/owned-process.ts";

const Identity = z.object({
  pid: z.int().positive(),
  startedAt: z.string(),
  bootId: z.string().optional(),
  pidNamespace: z.string().optional(),
});

/** The process that the file names; undefined when it is absent or names none. */
export function readIdentity(path: string): ProcessIdentity | undefined {
  try {
    return Identity.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined;
  }
}
