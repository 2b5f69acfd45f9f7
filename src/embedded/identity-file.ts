/** A process recorded in a file, so that a later start can check whether it still runs. */
import { readFileSync } from "node:fs";
import type { ProcessIdentity } from "#kernel/owned-process.ts";
import { Process } from "./contract.ts";

/** The process that the file names; undefined when the file is absent or invalid. */
export function readIdentity(path: string): ProcessIdentity | undefined {
  try {
    return Process.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined;
  }
}
