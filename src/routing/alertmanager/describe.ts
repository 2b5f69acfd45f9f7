import type { SettingChange } from "./diff.ts";
import type { Comparison } from "./keep.ts";

/** For people, one line each: what differs in the file, and then what the alert manager works with. */
export function describeComparison({ changes, running, reason }: Comparison): string[] {
  const verdict = verdicts[running];
  return [...changes.map(describeChange), reason === undefined ? verdict : `${verdict}: ${reason}`];
}

/** What stands there, and what is to stand there. */
export function describeChange({ path, before, after }: SettingChange): string {
  return `${path}: ${before ?? "(not there)"} → ${after ?? "(not there)"}`;
}

const verdicts: Record<Comparison["running"], string> = {
  in_step: "The alert manager works with the configuration of its file.",
  not_reloaded: "The alert manager works with another configuration: it has to reload.",
  refused: "The alert manager does not take the configuration that it was last told to read.",
  unknown: "What the alert manager works with is unknown",
  not_asked: "The alert manager was not asked: no url is set.",
};
