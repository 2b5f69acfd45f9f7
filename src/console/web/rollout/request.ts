/** Makes the request from the fields of the form. Pure. */
import {
  faultOfLabels,
  filled,
  textIn,
  toLabels,
  toLimit,
  toList,
} from "#console/web/parts/fields.ts";
import { toInstant } from "#console/web/times.ts";
import { parseDuration } from "#kernel/time.ts";
import type { Choice, Selector } from "#rollout/choice/contract.ts";
import type { RolloutRequest } from "#rollout/contract.ts";
import type { Approvals } from "#rollout/policy-contract.ts";

/** Each field with its path in the request. The form has one exclusion; a request may have several. */
const choicePaths = {
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

const noChoice = Object.fromEntries(names.map((name) => [name, ""])) as ChoiceFields;

export type StartFields = ChoiceFields & {
  image: string;
  waves: string;
  checks: readonly string[];
  cleanRuns: number;
  timeoutSeconds: number;
  maxFailed: string;
  soakSeconds: string;
  watchSeconds: string;
  rollsBack: boolean;
  notBefore: string;
  /** Empty: those of the settings. */
  approvals: Approvals | "";
  reason: string;
};

export const emptyFields: StartFields = {
  ...noChoice,
  image: "",
  waves: "1, 5, 25, 50, 100",
  checks: [],
  cleanRuns: 3,
  timeoutSeconds: 600,
  maxFailed: "",
  soakSeconds: "",
  watchSeconds: "",
  rollsBack: false,
  notBefore: "",
  approvals: "",
  reason: "",
};

/** Each field with its path in the request. */
export const startPaths: Record<keyof StartFields, string> = {
  ...choicePaths,
  image: "image",
  waves: "wave_percentages",
  checks: "gate.checks",
  cleanRuns: "gate.clean_runs",
  timeoutSeconds: "gate.timeout_seconds",
  maxFailed: "max_failed.in_all",
  soakSeconds: "soak_seconds",
  watchSeconds: "watch_for",
  rollsBack: "on_failure",
  notBefore: "not_before",
  approvals: "approvals",
  reason: "reason",
};

/** Leaves out empty fields: the server has the defaults. */
export function toRequest(fields: StartFields): RolloutRequest {
  const percentages = readNumbers(fields.waves);
  const { checks, cleanRuns, timeoutSeconds, approvals } = fields;
  const soaks = readNumbers(fields.soakSeconds, secondsIn);
  const maxFailed = toLimit(fields.maxFailed);
  const gate = { checks: [...checks], clean_runs: cleanRuns, timeout_seconds: timeoutSeconds };
  return filled({
    image: fields.image.trim(),
    wave_percentages: percentages.length > 0 ? percentages : undefined,
    gate: checks.length > 0 ? gate : undefined,
    max_failed: maxFailed === undefined ? undefined : { in_all: maxFailed },
    soak_seconds: soaks.length > 1 ? soaks : soaks[0],
    watch_for: readNumbers(fields.watchSeconds, secondsIn)[0],
    on_failure: fields.rollsBack ? ("rollback" as const) : undefined,
    not_before: toInstant(fields.notBefore),
    approvals: approvals === "" ? undefined : approvals,
    reason: textIn(fields.reason),
    ...choiceOf(fields),
  });
}

/** Numbers separated by spaces, commas, semicolons, % or →. Other text becomes -1, which the server refuses. */
function readNumbers(text: string, numberIn: (word: string) => number = Number): number[] {
  return text
    .split(/[\s,;%→]+/)
    .filter((word) => word !== "")
    .map((word) => (Number.isNaN(numberIn(word)) ? -1 : numberIn(word)));
}

function secondsIn(word: string): number {
  const ms = parseDuration(word);
  return ms === undefined ? Number(word) : ms / 1_000;
}

function choiceOf(fields: ChoiceFields): Choice {
  const excluded = selectorIn(fields, "exclude");
  return filled({
    only: selectorIn(fields, "only"),
    exclude: excluded && [excluded],
    regions: toList(fields.regions),
    canary_labels: toLabels(fields.canaries),
    max_per_region: toLimit(fields.maxPerRegion),
    max_unavailable: toLimit(fields.maxUnavailable),
  });
}

function selectorIn(fields: ChoiceFields, of: "exclude" | "only"): Selector | undefined {
  const selector = filled({
    ids: toList(fields[`${of}Ids`]),
    regions: toList(fields[`${of}Regions`]),
    labels: toLabels(fields[`${of}Labels`]),
  });
  return Object.keys(selector).length === 0 ? undefined : selector;
}

/** The faults of the text of labels, as a refusal says them; undefined: there are none that the server would not see. */
export function refusalOfLabels(fields: ChoiceFields): string | undefined {
  const faults = (["canaries", "onlyLabels", "excludeLabels"] as const).flatMap((name) => {
    const fault = faultOfLabels(fields[name]);
    return fault === undefined ? [] : [`${choicePaths[name]}: ${fault}`];
  });
  return faults.length === 0 ? undefined : faults.join("\n");
}

export function countFilled(fields: ChoiceFields): number {
  return names.filter((name) => fields[name].trim() !== "").length;
}
