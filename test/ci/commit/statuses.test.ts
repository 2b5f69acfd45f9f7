import { describe, expect, it } from "vitest";
import { type CommitStatus, gradeStatuses } from "#ci/commit/repository.ts";

const required = ["build", "test"];

/** The states of the required names and of others; a name may have several. */
const judge = (...states: [name: string, state: CommitStatus["state"]][]) =>
  gradeStatuses(
    states.map(([name, state]) => ({ name, state })),
    required,
  );

describe("gradeStatuses", () => {
  it("passes when all that are required are green, whatever others say", () => {
    const finding = judge(
      ["build", "green"],
      ["test", "green"],
      ["nightly", "red"],
      ["deploy", "pending"],
    );

    expect(finding).toEqual({ result: "passed", detail: "green: build, test" });
  });

  it("misses one that is not there", () => {
    expect(judge(["build", "green"])).toEqual({ result: "missing", detail: "not green: test" });
  });

  it("misses one that was skipped or cancelled: it has shown nothing", () => {
    expect(judge(["build", "green"], ["test", "void"])).toEqual({
      result: "missing",
      detail: "not green: test",
    });
  });

  it("passes when a run was cancelled for another one of its name, which is green", () => {
    expect(judge(["build", "green"], ["test", "void"], ["test", "green"]).result).toBe("passed");
  });

  it("is pending, not missing, while one runs that the missing one may wait for", () => {
    expect(judge(["build", "pending"]).result).toBe("pending");
  });

  it("is pending while one of two of a name runs", () => {
    expect(judge(["build", "green"], ["test", "green"], ["test", "pending"]).result).toBe(
      "pending",
    );
  });

  it("fails when one of two of a name is red, however many are pending", () => {
    expect(judge(["build", "pending"], ["test", "green"], ["test", "red"])).toEqual({
      result: "failed",
      detail: "failed: test",
    });
  });

  it("names five and counts the others", () => {
    const names = Array.from({ length: 8 }, (_, i) => `job-${i}`);
    const statuses = names.map((name): CommitStatus => ({ name, state: "green" }));

    expect(gradeStatuses(statuses, names).detail).toBe(
      "green: job-0, job-1, job-2, job-3, job-4 and 3 more",
    );
  });
});
