/** What is wrong with a field of a row, in words. They quote no text where text belongs, which may be a secret. */
import type { z } from "zod";
import { wordsOf } from "#kernel/faults.ts";
import { hintOf } from "./nearest.ts";
import type { Path } from "./offsets.ts";

export type Complaint = { path: Path; message: string };

/** Of an unknown field the path is that of its name. `fields`: those that a row of this section has. */
export function complaintsOf(issue: z.core.$ZodIssue, fields: readonly string[]): Complaint[] {
  const path = issue.path.filter((part) => typeof part !== "symbol");
  if (issue.code !== "unrecognized_keys") return [{ path, message: describe(issue) }];
  const known = path.length === 0 ? fields : [];
  return issue.keys.map((key) => ({
    path: [...path, key],
    message: `is unknown${hintOf(key, known)}`,
  }));
}

/** Of a field that says which kind of object it is, the kinds that there are. */
function describe(issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_union" || !("options" in issue)) return wordsOf(issue);
  // Undefined: of the kind that a row without one has.
  const names = issue.options.filter((name) => name !== undefined);
  return `expected one of ${names.map((name) => JSON.stringify(name)).join(", ")}`;
}
