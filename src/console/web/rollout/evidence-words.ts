/** The words of what shows that an image has passed CI. Pure. */
import type { CiEvidence, CiKind } from "#ci/contract.ts";
import type { Tone } from "#console/web/parts/mark.tsx";
import { evidenceWords } from "#kernel/words.ts";

export const kindNames: Record<CiKind, string> = {
  commit: "Commit",
  signature: "Signature",
  provenance: "Provenance",
  label: "Labels",
};

export function wordsOfEvidence(evidence: CiEvidence): string {
  return `${kindNames[evidence.kind]} ${evidenceWords(evidence)}`;
}

export function toneOfEvidence({ result, passes }: CiEvidence): Tone {
  if (result === "passed") return "good";
  return passes || result === "pending" ? "warn" : "bad";
}

/** All in one line, for a comparison. */
export function evidenceLine(evidence: readonly CiEvidence[]): string {
  return evidence.map(wordsOfEvidence).join(" · ");
}
