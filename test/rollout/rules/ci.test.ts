import { describe, expect, it } from "vitest";
import type { CiEvidence, CiResult } from "#ci/contract.ts";
import { requireCi } from "#rollout/rules/ci.ts";

const evidence = (result: CiResult, passes = result === "passed"): CiEvidence => ({
  kind: "commit",
  result,
  passes,
  detail: "the detail",
});

describe("requireCi", () => {
  it("takes an image of which nothing is asked", () => {
    expect(() => requireCi(undefined)).not.toThrow();
    expect(() => requireCi([])).not.toThrow();
  });

  it("takes an image of which everything passes, by the settings too", () => {
    expect(() => requireCi([evidence("passed"), evidence("missing", true)])).not.toThrow();
  });

  it.each([
    { result: "failed", status: 400 },
    { result: "missing", status: 400 },
    { result: "unverifiable", status: 400 },
    { result: "pending", status: 409 },
    { result: "unavailable", status: 424 },
  ] as const)("refuses what is $result with $status", ({ result, status }) => {
    expect(() => requireCi([evidence("passed"), evidence(result)])).toThrow(
      expect.objectContaining({ status, code: `ci_${result}` }),
    );
  });

  it("says what is final before what may be tried again, and all of it", () => {
    expect(() => requireCi([evidence("unavailable"), evidence("failed")])).toThrow(
      expect.objectContaining({
        code: "ci_failed",
        message: expect.stringMatching(/the detail.*the detail/),
      }),
    );
  });
});
