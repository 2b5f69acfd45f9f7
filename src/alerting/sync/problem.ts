import type { AlertRoutesProblemCode } from "#alerting/routes-sync-contract.ts";
import { ProblemError } from "#kernel/problem.ts";

export function problem(
  status: number,
  code: AlertRoutesProblemCode,
  detail: string,
): ProblemError {
  return new ProblemError<AlertRoutesProblemCode>({ status, code, detail });
}
