import { describe, expect, it } from "vitest";
import type { CommitApi } from "#ci/commit/api.ts";
import { checkCommit } from "#ci/commit/check.ts";

const sha = "3f".repeat(20);
const rules = {
  repositories: ["https://github.com/acme/gateway"],
  branches: [] as string[],
  required: ["build"],
};

const labelsWith = (labels: Record<string, string>) =>
  new Map(
    Object.entries({
      "org.opencontainers.image.source": "https://github.com/acme/gateway",
      "org.opencontainers.image.revision": sha,
      ...labels,
    }),
  );

const fail = async () => {
  throw new Error("this must not be asked for");
};
const neverAsked: CommitApi = { readStatuses: fail, isOnBranch: fail };

const green: CommitApi = {
  ...neverAsked,
  readStatuses: async () => [{ name: "build", state: "green" }],
};

/** The commit is on these branches. */
const greenOn = (...branches: string[]): CommitApi => ({
  ...green,
  isOnBranch: async (_, branch) => branches.includes(branch),
});

describe("checkCommit", () => {
  it("passes with the statuses of the commit that the labels name", async () => {
    const finding = await checkCommit(labelsWith({}), rules, green);

    expect(finding).toEqual({
      result: "passed",
      detail: "commit 3f3f3f3f3f3f of acme/gateway: green: build",
      url: `https://github.com/acme/gateway/commit/${sha}`,
    });
  });

  it.each([["org.opencontainers.image.source"], ["org.opencontainers.image.revision"]])(
    "misses an image without the label %s",
    async (label) => {
      const labels = labelsWith({});
      labels.delete(label);

      const finding = await checkCommit(labels, rules, neverAsked);

      expect(finding).toEqual({ result: "missing", detail: `the image has no label ${label}` });
    },
  );

  it.each(["main", "3f3f3f3", `${sha}/../${sha}`, `${sha}\n`, sha.toUpperCase(), ""])(
    "takes the revision %j for no commit",
    async (revision) => {
      const labels = labelsWith({ "org.opencontainers.image.revision": revision });

      const finding = await checkCommit(labels, rules, neverAsked);

      expect(finding.result).toBe("unverifiable");
    },
  );

  it.each(["https://github.com/mallory/gateway", "https://example.org/acme/gateway", "\u202egit"])(
    "asks nobody about a commit of %j, whose checks do not count",
    async (source) => {
      const labels = labelsWith({ "org.opencontainers.image.source": source });

      const finding = await checkCommit(labels, rules, neverAsked);

      expect(finding.result).toBe("unverifiable");
      expect(finding.detail).toContain("ci.commit.repositories");
    },
  );

  it("believes nothing of a commit that is not known there", async () => {
    const unknown = { ...neverAsked, readStatuses: async () => undefined };

    const finding = await checkCommit(labelsWith({}), rules, unknown);

    expect(finding.result).toBe("unverifiable");
  });

  it.each([
    [["main"], ["main"], "passed"],
    [["main", "release"], ["release"], "passed"],
    [["main"], ["a-fork-of-main"], "unverifiable"],
  ] as const)("of %j has to be on one: on %j it is %s", async (branches, on, result) => {
    const wanted = { ...rules, branches };

    const finding = await checkCommit(labelsWith({}), wanted, greenOn(...on));

    expect(finding.result).toBe(result);
  });
});
