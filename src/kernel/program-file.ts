/** The program itself: its version, and where the parts lie that run as child processes. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/**
 * The file that Node runs for one of our own programs, named as an import of it: the source in the repository, and
 * what was compiled of it in the npm package.
 */
export function programFile(name: `#${string}.ts`): string {
  return createRequire(import.meta.url).resolve(name);
}

/** Reads the version of `package.json`. */
export function readVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
