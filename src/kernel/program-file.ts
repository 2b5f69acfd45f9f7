/** Where the programs lie that run as child processes. */
import { createRequire } from "node:module";

/**
 * The file that Node runs for one of our own programs, named as an import of it: the source in the repository, and
 * what was compiled of it in the npm package.
 */
export function programFile(name: `#${string}.ts`): string {
  return createRequire(import.meta.url).resolve(name);
}
