import type { DeployResult, DeployStep } from "./contract.ts";

/** Converts a deploy's last step into the result for the caller that wanted it. */
export function toResult(step: DeployStep): DeployResult {
  if (step.status === "ready") return { status: "ready" };
  const reason = step.reason ?? "timeout_unknown";
  if (step.status === "unordered") return { status: "failed", reason, ordered: false };
  const { isOfApi, serving } = step;
  const unasked = isOfApi === true && { unasked: true };
  return { status: "failed", reason, ...unasked, ...(serving && { serving }) };
}
