/** What commands do with a file of definitions, without a server. */
import { type ReadDefinitions, readDefinitions } from "#definitions/file/read.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { type StandardSettings, standardSet } from "#definitions/standard/standard.ts";

type Settings = StandardSettings & { definitions: { file: string } };

/**
 * What the file says that is named, or else the one of the settings or of the working directory; without one
 * the standard rows. Throws with one line for each fault.
 */
export function readFileDefinitions(
  settings: Settings,
  named: string | undefined,
): Promise<ReadDefinitions> {
  const file = named ?? settings.definitions.file;
  return readDefinitions({
    ...(file !== "" && { file }),
    directory: process.cwd(),
    standard: standardSet(settings),
  });
}

/** The rows alone. */
export async function readFileRows(settings: Settings): Promise<DefinitionSet> {
  return (await readFileDefinitions(settings, undefined)).set;
}

/** The same as the monitor takes them. */
export async function readFileChecks(settings: Settings) {
  return toMonitored(await readFileRows(settings));
}
