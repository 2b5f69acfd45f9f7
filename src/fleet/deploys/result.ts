import type { DeployResult, DeployStep } from "./contract.ts";

/** What a deploy's last step says to whoever wanted the deploy. */
export function toResult(step: DeployStep): DeployResult {
  if (step.status === "ready") return { status: "ready" };
  const reason = step.reason ?? "timeout_unknown";
  if (step.status === "unordered") return { status: "failed", reason, ordered: false };
  const { isOfApi, serving } = step;
  const unasked = isOfApi === true && { unasked: true };
  return { status: "failed", reason, ...unasked, ...(serving && { serving }) };
}
