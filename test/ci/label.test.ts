import { describe, expect, it } from "vitest";
import { gradeLabels } from "#ci/image-checks.ts";

const wanted = { "org.example.tests": "passed", "org.example.scan": "clean" };

const judge = (labels: Record<string, string>) =>
  gradeLabels(new Map(Object.entries(labels)), wanted);

describe("gradeLabels", () => {
  it("passes with every label that is wanted, whatever others there are", () => {
    const finding = judge({ ...wanted, other: "x" });

    expect(finding.result).toBe("passed");
  });

  it("fails where a label has another value, and shows it", () => {
    const finding = judge({ ...wanted, "org.example.scan": "3 critical" });

    expect(finding).toEqual({
      result: "failed",
      detail: "the image has org.example.scan=3 critical",
    });
  });

  it("misses a label that is not there", () => {
    const finding = judge({ "org.example.tests": "passed" });

    expect(finding).toEqual({
      result: "missing",
      detail: "the image has no label org.example.scan",
    });
  });

  it("takes no label from an object's prototype", () => {
    const finding = gradeLabels(new Map(), { constructor: "passed" });

    expect(finding.result).toBe("missing");
  });
});
