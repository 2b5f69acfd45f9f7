import type { DefinitionSet, Section } from "#definitions/rows/contract.ts";

export type ReadDefinitions = {
  set: DefinitionSet;
  removed: { section: Section; key: string }[];
  files: string[];
};

export async function readDefinitions(from: {
  file?: string;
  directory: string;
  standard: DefinitionSet;
}): Promise<ReadDefinitions> {
  return { set: from.standard, removed: [], files: [] };
}
