import type { z } from "zod";
import { faultLines } from "#kernel/faults.ts";
import { ProblemError } from "#kernel/problem.ts";

/** The parsed body of a request. Throws 400 with all faults. */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const detail = faultLines(parsed.error, "").join("\n");
  throw new ProblemError({ status: 400, code: "invalid_request", detail });
}
