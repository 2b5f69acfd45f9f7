/** Prints what shows that an image has passed CI. */
import type { CiEvidence } from "#ci/contract.ts";
import { plain } from "#cli/table.ts";
import { evidenceWords } from "#kernel/words.ts";

/** One line for each kind. */
export function evidenceLines(evidence: readonly CiEvidence[]): string[] {
  return evidence.map(({ kind, result, passes, detail, url }) => {
    const link = url === undefined ? "" : ` ${plain(url)}`;
    return `ci         ${kind} ${evidenceWords({ result, passes })}: ${plain(detail)}${link}`;
  });
}
