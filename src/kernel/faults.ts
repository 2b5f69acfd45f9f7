/** What is wrong with a value, in words. */
import type { z } from "zod";
import "./fault-words.ts";

/** One line for each fault: where it is, and what has to be there. `whole`: what the value itself is called. */
export function faultLines(error: z.ZodError, whole: string): string[] {
  return error.issues.map((issue) => {
    const where = issue.path.length === 0 ? whole : issue.path.join(".");
    return where === "" ? wordsOf(issue) : `${where}: ${wordsOf(issue)}`;
  });
}

/** Of a name that a record must not have, what the name's own schema says. */
export function wordsOf(issue: z.core.$ZodIssue): string {
  const { message } = issue;
  return issue.code === "invalid_key" ? (issue.issues[0]?.message ?? message) : message;
}

/** For `superRefine` of a text: `find` returns what is wrong with it. */
export const refuseBy =
  (find: (text: string) => string | undefined) =>
  (text: string, { addIssue }: z.RefinementCtx): void => {
    const message = find(text);
    if (message !== undefined) addIssue({ code: "custom", message, continue: false });
  };
