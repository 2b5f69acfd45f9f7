/** Directories with files of definitions. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DefinitionsError } from "#definitions/file/fault.ts";
import { type ReadDefinitions, readDefinitions } from "#definitions/file/read.ts";
import { standardRows } from "../monitor/standard-definitions.ts";
import { tempDir } from "../temp-dir.ts";

/** A new directory with these files, by their names. */
export function directoryOf(files: Record<string, string>): string {
  const directory = tempDir();
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(directory, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return directory;
}

/** What `readDefinitions` makes of these files. */
export function readFiles(files: Record<string, string>, file?: string): Promise<ReadDefinitions> {
  const directory = directoryOf(files);
  return readDefinitions({ directory, standard: standardRows, ...(file && { file }) });
}

/** One line for each fault that reading them finds; none: they are read. */
export async function faultsOf(files: Record<string, string>): Promise<string[]> {
  try {
    await readFiles(files);
    return [];
  } catch (error) {
    if (error instanceof DefinitionsError) return error.message.split("\n");
    throw error;
  }
}
