import { describe, expect, it } from "vitest";
import { type CommitStatus, judgeStatuses } from "#ci/commit/statuses.ts";

const green = (name: string): CommitStatus => ({ name, state: "green" });
const pending = (name: string): CommitStatus => ({ name, state: "pending" });
const red = (name: string): CommitStatus => ({ name, state: "red" });

describe("judgeStatuses without required names", () => {
  it("passes when all are green", () => {
    expect(judgeStatuses([green("build"), green("test")], [])).toEqual({
      result: "passed",
      detail: "green: build, test",
    });
  });

  it("misses a commit without any", () => {
    expect(judgeStatuses([], []).result).toBe("missing");
  });

  it("fails with a red one, however many are pending", () => {
    expect(judgeStatuses([pending("build"), red("test"), green("lint")], [])).toEqual({
      result: "failed",
      detail: "failed: test",
    });
  });

  it("takes a skipped one for neither good nor bad", () => {
    const skipped: CommitStatus = { name: "docs", state: "skipped" };

    expect(judgeStatuses([green("build"), skipped], []).result).toBe("passed");
    expect(judgeStatuses([skipped], []).result).toBe("missing");
  });

  it("is pending until the last one has ended", () => {
    expect(judgeStatuses([green("build"), pending("test")], []).result).toBe("pending");
  });

  it("names five and counts the others", () => {
    const statuses = Array.from({ length: 8 }, (_, i) => green(`job-${i}`));

    expect(judgeStatuses(statuses, []).detail).toBe(
      "green: job-0, job-1, job-2, job-3, job-4 and 3 more",
    );
  });

  it("cleans the names, which are whatever a pipeline calls itself", () => {
    const { detail } = judgeStatuses([red(`a\u0007\u202e${"b".repeat(500)}`)], []);

    expect(detail).toBe(`failed: a  ${"b".repeat(57)}`);
  });
});

describe("judgeStatuses with required names", () => {
  const required = ["build", "test"];

  it("passes when those are green, whatever others say", () => {
    const statuses = [green("build"), green("test"), red("nightly"), pending("deploy")];

    expect(judgeStatuses(statuses, required).result).toBe("passed");
  });

  it("misses one that is not there", () => {
    expect(judgeStatuses([green("build")], required)).toEqual({
      result: "missing",
      detail: "have not run: test",
    });
  });

  it("is pending, not missing, while one runs that the missing one may wait for", () => {
    expect(judgeStatuses([pending("build")], required).result).toBe("pending");
  });

  it("misses one that was skipped: it has not run", () => {
    const statuses: CommitStatus[] = [green("build"), { name: "test", state: "skipped" }];

    expect(judgeStatuses(statuses, required)).toEqual({
      result: "missing",
      detail: "have not run: test",
    });
  });

  it("fails when one of two of the same name is red", () => {
    const statuses = [green("build"), green("test"), red("test")];

    expect(judgeStatuses(statuses, required).result).toBe("failed");
  });
});
