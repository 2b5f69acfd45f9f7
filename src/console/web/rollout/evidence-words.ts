/** The words of what shows that an image has passed CI. Pure. */
import type { CiEvidence, CiKind, CiResult } from "#ci/contract.ts";
import type { Tone } from "#console/web/parts/mark.tsx";

export const kindNames: Record<CiKind, string> = {
  commit: "Commit",
  signature: "Signature",
  provenance: "Provenance",
  label: "Labels",
};

const resultWords: Record<CiResult, string> = {
  passed: "passed",
  failed: "failed",
  pending: "not ended",
  missing: "missing",
  unverifiable: "not verifiable",
  unavailable: "could not be asked",
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
