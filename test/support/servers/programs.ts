/** Programs that some tests run beside Vedette, and that not every machine has. */
import { spawnSync } from "node:child_process";

/** Says on stderr what is missing, so that a run without these tests is not taken for one with them. */
export function hasPrograms(...programs: string[]): boolean {
  const missing = programs.filter((program) => spawnSync(program, ["--version"]).error);
  if (missing.length > 0) {
    process.stderr.write(`skipped: tests that need ${missing.join(" and ")}, not installed here\n`);
  }
  return missing.length === 0;
}
