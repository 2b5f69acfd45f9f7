/** The fields of the form about which sentinels a rollout takes, and in which order. Pure. */
import { faultOfLabels, toLabels, toLimit, toList } from "#console/web/parts/lists.ts";
import type { Choice } from "#rollout/choice/contract.ts";

/** The form has one exclusion; a request may have several. */
export type ChoiceFields = {
  regions: string;
  canaries: string;
  maxPerRegion: string;
  maxUnavailable: string;
  excludeIds: string;
  excludeRegions: string;
  excludeLabels: string;
};

export const noChoice: ChoiceFields = {
  regions: "",
  canaries: "",
  maxPerRegion: "",
  maxUnavailable: "",
  excludeIds: "",
  excludeRegions: "",
  excludeLabels: "",
};

/** Each field with its path in the request. */
export const choicePaths: Record<keyof ChoiceFields, string> = {
  regions: "regions",
  canaries: "canary_labels",
  maxPerRegion: "max_per_region",
  maxUnavailable: "max_unavailable",
  excludeIds: "exclude.0.ids",
  excludeRegions: "exclude.0.regions",
  excludeLabels: "exclude.0.labels",
};

/** Leaves out empty fields. */
export function choiceOf(fields: ChoiceFields): Choice {
  const regions = toList(fields.regions);
  const canaries = toLabels(fields.canaries);
  const maxPerRegion = toLimit(fields.maxPerRegion);
  const maxUnavailable = toLimit(fields.maxUnavailable);
  const excluded = exclusionOf(fields);
  return {
    ...(excluded !== undefined && { exclude: [excluded] }),
    ...(regions !== undefined && { regions }),
    ...(canaries !== undefined && { canary_labels: canaries }),
    ...(maxPerRegion !== undefined && { max_per_region: maxPerRegion }),
    ...(maxUnavailable !== undefined && { max_unavailable: maxUnavailable }),
  };
}

function exclusionOf(fields: ChoiceFields): NonNullable<Choice["exclude"]>[number] | undefined {
  const ids = toList(fields.excludeIds);
  const regions = toList(fields.excludeRegions);
  const labels = toLabels(fields.excludeLabels);
  if (ids === undefined && regions === undefined && labels === undefined) return undefined;
  return {
    ...(ids !== undefined && { ids }),
    ...(regions !== undefined && { regions }),
    ...(labels !== undefined && { labels }),
  };
}

/** What is wrong with the text of labels, as a refusal says it; undefined: nothing that the server would not see. */
export function refusalOfLabels(fields: ChoiceFields): string | undefined {
  const faults = (["canaries", "excludeLabels"] as const).flatMap((name) => {
    const fault = faultOfLabels(fields[name]);
    return fault === undefined ? [] : [`${choicePaths[name]}: ${fault}`];
  });
  return faults.length === 0 ? undefined : faults.join("\n");
}

/** How many of the fields are filled in. */
export function countFilled(fields: ChoiceFields): number {
  const names = Object.keys(noChoice) as (keyof ChoiceFields)[];
  return names.filter((name) => fields[name].trim() !== "").length;
}
