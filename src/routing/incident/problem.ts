import { ProblemError } from "#kernel/problem.ts";
import type { AlertRoutesProblemCode } from "#routing/incident/contract.ts";

export function problem(
  status: number,
  code: AlertRoutesProblemCode,
  detail: string,
): ProblemError {
  return new ProblemError<AlertRoutesProblemCode>({ status, code, detail });
}
