import type { SettingChange } from "./diff.ts";
import type { Comparison } from "./keep.ts";

/** Lines for people: the differences in the file, then which configuration the alert manager runs. */
export function describeComparison({ changes, running, reason }: Comparison): string[] {
  const verdict = verdicts[running];
  return [...changes.map(describeChange), reason === undefined ? verdict : `${verdict}: ${reason}`];
}

/** The present value and the wanted one. */
export function describeChange({ path, before, after }: SettingChange): string {
  return `${path}: ${before ?? "(not set)"} → ${after ?? "(not set)"}`;
}

const verdicts: Record<Comparison["running"], string> = {
  in_step: "The alert manager runs the configuration of its file.",
  not_reloaded: "The alert manager runs another configuration: it has to reload.",
  refused: "The alert manager rejected its configuration at the last reload.",
  unknown: "The configuration that the alert manager runs is unknown",
  not_asked: "The alert manager's running configuration was not read: no url is set.",
};
