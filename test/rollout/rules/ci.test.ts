import { describe, expect, it } from "vitest";
import type { CiEvidence, CiResult } from "#ci/contract.ts";
import { requireCi } from "#rollout/rules/start.ts";

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

  it.each([
    ["failed", "the image has not passed CI"],
    ["missing", "nothing shows that the image has passed CI"],
    ["unverifiable", "what is to show that the image has passed CI cannot be verified"],
    ["pending", "CI has not ended; try again when it has"],
    ["unavailable", "it cannot be found out now whether the image has passed CI"],
  ] as const)(
    "a refusal of what is %s says so, names the setting and has the evidence",
    (result, words) => {
      expect(() => requireCi([evidence(result)])).toThrow(
        `${words} (rollout.require_ci); commit: the detail`,
      );
    },
  );

  it("says what is final before what may be tried again, and all of it", () => {
    expect(() => requireCi([evidence("unavailable"), evidence("failed")])).toThrow(
      expect.objectContaining({
        code: "ci_failed",
        message: expect.stringMatching(/the detail.*the detail/),
      }),
    );
  });
});
