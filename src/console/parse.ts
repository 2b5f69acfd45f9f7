import type { z } from "zod";
import { ProblemError } from "#kernel/problem.ts";

/** The parsed body of a request. Throws 400 with all faults. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) =>
    issue.path.length === 0 ? wordsOf(issue) : `${issue.path.join(".")}: ${wordsOf(issue)}`,
  );
  throw new ProblemError({ status: 400, code: "invalid_request", detail: faults.join("\n") });
}

/** Of a name that a record must not have, what the name's own schema says. */
function wordsOf(issue: z.core.$ZodIssue): string {
  const { message } = issue;
  return issue.code === "invalid_key" ? (issue.issues[0]?.message ?? message) : message;
}
