/** Prints what shows that an image has passed CI. */
import { type CiEvidence, resultWords } from "#ci/contract.ts";
import { plain } from "#cli/table.ts";

/** One line for each kind. */
export function evidenceLines(evidence: readonly CiEvidence[]): string[] {
  return evidence.map(({ kind, result, passes, detail, url }) => {
    const isLetPass = passes && result !== "passed";
    const how = `${resultWords[result]}${isLetPass ? ", which the settings let pass" : ""}`;
    return `ci         ${kind} ${how}: ${plain(detail)}${url === undefined ? "" : ` ${plain(url)}`}`;
  });
}
