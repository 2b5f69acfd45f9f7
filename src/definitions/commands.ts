/** What commands do with a file of definitions, without a server. */
import { readDefinitions } from "#definitions/file/read.ts";
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { type StandardSettings, standardSet } from "#definitions/standard/standard.ts";

type Settings = StandardSettings & { definitions: { file: string } };

/** The rows of the file that the settings name, or of the working directory; without one the standard rows. */
export async function readFileRows(settings: Settings): Promise<DefinitionSet> {
  const { file } = settings.definitions;
  const { set } = await readDefinitions({
    ...(file !== "" && { file }),
    directory: process.cwd(),
    standard: standardSet(settings),
  });
  return set;
}

/** The same as the monitor takes them. */
export async function readFileChecks(settings: Settings) {
  return toMonitored(await readFileRows(settings));
}
