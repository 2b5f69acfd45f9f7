/** Prints what shows that an image has passed CI. */
import type { CiEvidence, CiResult } from "#ci/contract.ts";
import { plain } from "#cli/table.ts";

const resultWords: Record<CiResult, string> = {
  passed: "passed",
  failed: "failed",
  pending: "not ended",
  missing: "missing",
  unverifiable: "not verifiable",
  unavailable: "could not be asked",
};

/** One line for each kind. */
export function evidenceLines(evidence: readonly CiEvidence[]): string[] {
  return evidence.map(({ kind, result, passes, detail, url }) => {
    const isLetPass = passes && result !== "passed";
    const how = `${resultWords[result]}${isLetPass ? ", which the settings let pass" : ""}`;
    return `ci         ${kind} ${how}: ${plain(detail)}${url === undefined ? "" : ` ${plain(url)}`}`;
  });
}
