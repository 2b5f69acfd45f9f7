/** The fields of the form about which sentinels a rollout takes, and in which order. Pure. */
import { faultOfLabels, toLabels, toLimit, toList } from "#console/web/parts/lists.ts";
import type { Choice, Selector } from "#rollout/choice/contract.ts";

/** Each field with its path in the request. The form has one exclusion; a request may have several. */
export const choicePaths = {
  regions: "regions",
  canaries: "canary_labels",
  maxPerRegion: "max_per_region",
  maxUnavailable: "max_unavailable",
  onlyIds: "only.ids",
  onlyRegions: "only.regions",
  onlyLabels: "only.labels",
  excludeIds: "exclude.0.ids",
  excludeRegions: "exclude.0.regions",
  excludeLabels: "exclude.0.labels",
} as const;

export type ChoiceFields = Record<keyof typeof choicePaths, string>;
const names = Object.keys(choicePaths) as (keyof ChoiceFields)[];

export const noChoice = Object.fromEntries(names.map((name) => [name, ""])) as ChoiceFields;

/** Leaves out empty fields. */
export function choiceOf(fields: ChoiceFields): Choice {
  const regions = toList(fields.regions);
  const canaries = toLabels(fields.canaries);
  const maxPerRegion = toLimit(fields.maxPerRegion);
  const maxUnavailable = toLimit(fields.maxUnavailable);
  const excluded = selectorIn(fields, "exclude");
  const only = selectorIn(fields, "only");
  return {
    ...(only !== undefined && { only }),
    ...(excluded !== undefined && { exclude: [excluded] }),
    ...(regions !== undefined && { regions }),
    ...(canaries !== undefined && { canary_labels: canaries }),
    ...(maxPerRegion !== undefined && { max_per_region: maxPerRegion }),
    ...(maxUnavailable !== undefined && { max_unavailable: maxUnavailable }),
  };
}

function selectorIn(fields: ChoiceFields, of: "exclude" | "only"): Selector | undefined {
  const ids = toList(fields[`${of}Ids`]);
  const regions = toList(fields[`${of}Regions`]);
  const labels = toLabels(fields[`${of}Labels`]);
  if (ids === undefined && regions === undefined && labels === undefined) return undefined;
  return {
    ...(ids !== undefined && { ids }),
    ...(regions !== undefined && { regions }),
    ...(labels !== undefined && { labels }),
  };
}

/** What is wrong with the text of labels, as a refusal says it; undefined: nothing that the server would not see. */
export function refusalOfLabels(fields: ChoiceFields): string | undefined {
  const faults = (["canaries", "onlyLabels", "excludeLabels"] as const).flatMap((name) => {
    const fault = faultOfLabels(fields[name]);
    return fault === undefined ? [] : [`${choicePaths[name]}: ${fault}`];
  });
  return faults.length === 0 ? undefined : faults.join("\n");
}

/** How many of the fields are filled in. */
export function countFilled(fields: ChoiceFields): number {
  return names.filter((name) => fields[name].trim() !== "").length;
}
