/** Labels of sentinels, as a fleet lists them. Pure. */
import { LabelName, type Labels, LabelValue } from "./contract.ts";

const mostLabels = 32;
const mostRead = 1_000;

/** Returns the valid labels, by name, 32 at most: others can't be chosen by, and nothing else depends on them. */
export function boundLabels(given: unknown): Labels {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return {};
  const valid = Object.entries(given)
    .slice(0, mostRead)
    .filter(
      ([name, value]) => LabelName.safeParse(name).success && LabelValue.safeParse(value).success,
    );
  return Object.fromEntries(valid.toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, mostLabels));
}
