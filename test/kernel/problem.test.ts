import { describe, expect, it } from "vitest";
import { ProblemError, toProblem } from "#kernel/problem.ts";

describe("toProblem", () => {
  it("describes a refusal by its status, code and detail", () => {
    const error = new ProblemError({ status: 409, code: "illegal_operation", detail: "not now" });

    expect(toProblem(error)).toEqual({
      type: "urn:vedette:problem:illegal_operation",
      title: "Conflict",
      status: 409,
      code: "illegal_operation",
      detail: "not now",
    });
  });

  it("has a title of its own for a key that came with another body", () => {
    const error = new ProblemError({ status: 422, code: "idempotency_key_reused", detail: "no" });

    expect(toProblem(error).title).toBe("Unprocessable content");
  });

  it("describes a bug as a plain 500 without its message", () => {
    const problem = toProblem(new Error("password is hunter2"));

    expect(problem.status).toBe(500);
    expect(JSON.stringify(problem)).not.toContain("hunter2");
  });
});
