/** Checks that the commit from which an image was built has passed CI. */
import type { Finding } from "#ci/finding.ts";
import { cleanText } from "#kernel/text.ts";
import type { Commit, CommitApi } from "./api.ts";
import { gradeStatuses, isSameRepository, readRepository } from "./repository.ts";

/** Labels of an image (OCI image specification, "Annotations"). */
const revisionLabel = "org.opencontainers.image.revision";
const sourceLabel = "org.opencontainers.image.source";

type CommitRules = {
  /** Addresses of the repositories whose commits count. */
  repositories: readonly string[];
  /** The commit must be on one of them; empty: on any, or on none. */
  branches: readonly string[];
  required: readonly string[];
};

/** Throws `CiTrouble` when the API cannot be asked. */
export async function checkCommit(
  labels: ReadonlyMap<string, string>,
  rules: CommitRules,
  api: CommitApi,
): Promise<Finding> {
  const commit = commitOf(labels, rules.repositories);
  if ("result" in commit) return commit;
  const { repository, sha } = commit;
  const url = `${repository.url}/commit/${sha}`;
  const name = `commit ${sha.slice(0, 12)} of ${repository.owner}/${repository.name}`;
  const [statuses, isOnBranch] = await Promise.all([
    api.readStatuses(commit),
    isOnAny(commit, rules.branches, api),
  ]);
  if (statuses === undefined) {
    const detail = `${name} is not known there, or ci.commit.token gives no access to it`;
    return { result: "unverifiable", detail, url };
  }
  if (!isOnBranch) {
    const detail = `${name} is not on ${rules.branches.join(" or ")} (ci.commit.branches)`;
    return { result: "unverifiable", detail, url };
  }
  const { result, detail } = gradeStatuses(statuses, rules.required);
  return { result, detail: `${name}: ${detail}`, url };
}

/** A repository's API knows commits of forks and pull requests, too. */
async function isOnAny(commit: Commit, branches: readonly string[], api: CommitApi) {
  if (branches.length === 0) return true;
  const found = await Promise.all(branches.map((branch) => api.isOnBranch(commit, branch)));
  return found.includes(true);
}

/** The commit that the labels name, if its repository counts: labels are whatever the one who pushed has set. */
function commitOf(
  labels: ReadonlyMap<string, string>,
  repositories: readonly string[],
): Commit | Finding {
  const [source, sha] = [labels.get(sourceLabel), labels.get(revisionLabel)];
  if (source === undefined || sha === undefined) {
    const absent = [sourceLabel, revisionLabel].filter((label) => !labels.has(label));
    return { result: "missing", detail: `the image has no label ${absent.join(" and ")}` };
  }
  if (!/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(sha)) {
    const detail = `its label ${revisionLabel} is no commit: ${cleanText(sha, 80)}`;
    return { result: "unverifiable", detail };
  }
  const named = readRepository(source);
  const known = repositories.map(readRepository).filter((one) => one !== undefined);
  const repository = known.find((one) => named !== undefined && isSameRepository(one, named));
  if (repository !== undefined) return { repository, sha };
  const detail = `its label ${sourceLabel} names ${cleanText(source, 120)}, which ci.commit.repositories has not`;
  return { result: "unverifiable", detail };
}
