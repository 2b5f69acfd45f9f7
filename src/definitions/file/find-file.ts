import { existsSync } from "node:fs";
import path from "node:path";
import { DefinitionsError } from "./fault.ts";
import { extensions } from "./source.ts";

const base = "vedette.config";

/** The file of definitions in a directory; undefined: there is none. Throws `DefinitionsError` for several. */
export function findFile(directory: string): string | undefined {
  const names = extensions.map((extension) => `${base}${extension}`);
  const found = names.filter((name) => existsSync(path.join(directory, name)));
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  if (others.length === 0) return path.join(directory, first);
  const message = `${found.join(" and ")} are both here: keep one, or name one (definitions.file, --config)`;
  throw new DefinitionsError([{ file: first, where: "", message }]);
}
