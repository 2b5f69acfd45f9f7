/** A source repository, as labels, settings and statements name it. */
import type { Finding } from "#ci/finding.ts";
import { cleanText, someOf } from "#kernel/text.ts";

export type Repository = {
  /** `https://<host>/<owner>/<name>`, the host in lower case. */
  url: string;
  owner: string;
  name: string;
};

/** A name may begin with a dot, as `.github` does. */
const part = /^(?!\.{1,2}$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,99}$/;

/** undefined: not the address of a repository. `.git` at the end and a slash make no difference. */
export function readRepository(address: string): Repository | undefined {
  const url = URL.parse(address.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const [, owner = "", last = "", ...more] = url.pathname.replace(/(?<!\/)\/+$/, "").split("/");
  const name = last.replace(/\.git$/, "");
  if (more.length > 0 || !part.test(owner) || !part.test(name)) return undefined;
  return { url: `${url.protocol}//${url.host}/${owner}/${name}`, owner, name };
}

/** True if two addresses name one repository. Owners and names have no case, as at GitHub. */
export function isSameRepository(one: Repository, other: Repository): boolean {
  return one.url.toLowerCase() === other.url.toLowerCase();
}

/** True if an API may be that of a repository's host: `api.github.com`, or the same host, or a neighbour of it. */
export function isApiOf(repository: string, apiUrl: string): boolean {
  const [host, api] = [URL.parse(repository)?.hostname ?? "", URL.parse(apiUrl)?.hostname ?? ""];
  return host === api || api === `api.${host}`;
}

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
