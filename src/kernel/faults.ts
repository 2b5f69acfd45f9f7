/** Describes a value's faults in words. */
import type { z } from "zod";
import "./fault-words.ts";

/** One line for each fault: where it is, and what has to be there. `whole`: what the value itself is called. */
export function faultLines(error: z.ZodError, whole: string): string[] {
  return error.issues.map((issue) => {
    const where = issue.path.length === 0 ? whole : issue.path.join(".");
    return where === "" ? wordsOf(issue) : `${where}: ${wordsOf(issue)}`;
  });
}

/** Returns the issue's message; for a name that a record must not have, that of the name's own schema. */
export function wordsOf(issue: z.core.$ZodIssue): string {
  const { message } = issue;
  return issue.code === "invalid_key" ? (issue.issues[0]?.message ?? message) : message;
}

/** Returns a check for `superRefine` of a text: `find` returns the text's fault. */
export const refuseBy =
  (find: (text: string) => string | undefined) =>
  (text: string, { addIssue }: z.RefinementCtx): void => {
    const message = find(text);
    if (message !== undefined) addIssue({ code: "custom", message, continue: false });
  };
