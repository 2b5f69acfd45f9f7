import { describe, expect, it } from "vitest";
import { ProblemError, toProblem } from "#kernel/problem.ts";

describe("toProblem", () => {
  it("answers a refusal with its status, code and detail", () => {
    const error = new ProblemError({ status: 409, code: "illegal_operation", detail: "not now" });

    expect(toProblem(error)).toEqual({
      type: "urn:vedette:problem:illegal_operation",
      title: "Conflict",
      status: 409,
      code: "illegal_operation",
      detail: "not now",
    });
  });

  it("answers a bug with a plain 500 that says nothing of it", () => {
    const problem = toProblem(new Error("password is hunter2"));

    expect(problem.status).toBe(500);
    expect(JSON.stringify(problem)).not.toContain("hunter2");
  });
});
