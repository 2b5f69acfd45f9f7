/** Programs that some tests run beside Vedette, and that not every machine has. */
import { spawnSync } from "node:child_process";

/** Says on stderr what is missing, so that a run without these tests is not taken for one with them. */
export function hasPrograms(...programs: string[]): boolean {
  const isThere = (program: string) => !spawnSync(program, ["--version"]).error;
  return hasNeeded(Object.fromEntries(programs.map((program) => [program, isThere(program)])));
}

/** The same of anything, by its name. */
export function hasNeeded(needed: Readonly<Record<string, boolean>>): boolean {
  const missing = Object.keys(needed).filter((name) => !needed[name]);
  if (missing.length > 0) {
    process.stderr.write(`skipped: tests that need ${missing.join(" and ")}, not there\n`);
  }
  return missing.length === 0;
}
