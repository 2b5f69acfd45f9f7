/** Whether a commit's statuses and check runs are green. Pure. */

import type { Finding } from "#ci/finding.ts";
import { cleanText } from "#kernel/clean-text.ts";

/** One status or check run of a commit, the latest of its name. `skipped`: it has shown nothing, good or bad. */
export type CommitStatus = { name: string; state: "green" | "pending" | "red" | "skipped" };

/** `required`: names that have to be there and green; empty: all that there are but the skipped ones, one at least. */
export function judgeStatuses(
  statuses: readonly CommitStatus[],
  required: readonly string[],
): Finding {
  const asked =
    required.length === 0 ? statuses : statuses.filter(({ name }) => required.includes(name));
  const inState = (state: CommitStatus["state"]) =>
    asked.filter((status) => status.state === state).map(({ name }) => name);
  const red = inState("red");
  if (red.length > 0) return { result: "failed", detail: `failed: ${listNames(red)}` };
  const pending = inState("pending");
  if (pending.length > 0) return { result: "pending", detail: `not ended: ${listNames(pending)}` };
  const green = inState("green");
  const absent = required.filter((name) => !green.includes(name));
  if (absent.length > 0) return { result: "missing", detail: `have not run: ${listNames(absent)}` };
  if (green.length === 0) return { result: "missing", detail: "no status or check run is green" };
  return { result: "passed", detail: `green: ${listNames(green)}` };
}

const namedAtMost = 5;

function listNames(names: readonly string[]): string {
  const named = names.slice(0, namedAtMost).map((name) => cleanText(name, 60));
  const more = names.length - named.length;
  return more > 0 ? `${named.join(", ")} and ${more} more` : named.join(", ");
}
