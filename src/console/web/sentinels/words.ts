/** The states of sentinels and the outcomes of their deploys, as people read them. */
import type { SentinelMark } from "#console/contract.ts";
import { outcomeMarks } from "#console/counts.ts";
import type { Tone } from "#console/web/parts/mark.tsx";
import type { FoundSentinel, ImageState } from "#fleet/overview/contract.ts";

export const stateWords: Record<ImageState, { name: string; tone: Tone }> = {
  as_ordered: { name: "As ordered", tone: "good" },
  deploying: { name: "Deploying", tone: "info" },
  failed: { name: "Failed", tone: "bad" },
  differs: { name: "Runs another image", tone: "warn" },
};

export const healthWords: Record<FoundSentinel["health"], { name: string; tone: Tone }> = {
  healthy: { name: "Healthy", tone: "good" },
  unhealthy: { name: "Unhealthy", tone: "bad" },
  unknown: { name: "Unknown", tone: "mute" },
};

/** null: it has no outcome yet. */
export function markOfOutcome(outcome: string | null): SentinelMark {
  return outcome === null ? "w" : (outcomeMarks[outcome] ?? "w");
}
