/** Decides if a commit's statuses and check runs are green. Pure. */
import type { Finding } from "#ci/finding.ts";
import { cleanText } from "#kernel/clean-text.ts";
import { someOf } from "#kernel/nearest.ts";

/** One status or check run of a commit. `void`: it was skipped or cancelled, and has shown nothing, good or bad. */
export type CommitStatus = { name: string; state: "green" | "pending" | "red" | "void" };

/** `required`: names that have to be there and green. Others say nothing, and may begin at any time. */
export function gradeStatuses(
  statuses: readonly CommitStatus[],
  required: readonly string[],
): Finding {
  const inState = (state: CommitStatus["state"]) =>
    required.filter((name) => statuses.some((one) => one.name === name && one.state === state));
  const red = inState("red");
  if (red.length > 0) return { result: "failed", detail: `failed: ${listNames(red)}` };
  const pending = inState("pending");
  if (pending.length > 0) return { result: "pending", detail: `not ended: ${listNames(pending)}` };
  const green = inState("green");
  const others = required.filter((name) => !green.includes(name));
  if (others.length > 0) return { result: "missing", detail: `not green: ${listNames(others)}` };
  return { result: "passed", detail: `green: ${listNames(green)}` };
}

function listNames(names: readonly string[]): string {
  const clean = names.map((name) => cleanText(name, 60));
  return someOf(clean, 5);
}
