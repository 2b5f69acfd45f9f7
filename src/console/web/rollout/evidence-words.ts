/** The words of what shows that an image has passed CI. Pure. */
import { type CiEvidence, type CiKind, resultWords } from "#ci/contract.ts";
import type { Tone } from "#console/web/parts/mark.tsx";

export const kindNames: Record<CiKind, string> = {
  commit: "Commit",
  signature: "Signature",
  provenance: "Provenance",
  label: "Labels",
};

export function wordsOfEvidence({ kind, result, passes }: CiEvidence): string {
  const isLetPass = passes && result !== "passed";
  return `${kindNames[kind]} ${resultWords[result]}${isLetPass ? ", which the settings let pass" : ""}`;
}

export function toneOfEvidence({ result, passes }: CiEvidence): Tone {
  if (result === "passed") return "good";
  return passes || result === "pending" ? "warn" : "bad";
}

/** All in one line, for a comparison. */
export function evidenceLine(evidence: readonly CiEvidence[]): string {
  return evidence.map(wordsOfEvidence).join(" · ");
}
