import { expect, it } from "vitest";
import { ProblemError } from "#kernel/problem.ts";
import type { GateTargets } from "#rollout/gates/kind.ts";
import { requireGates } from "#rollout/gates/registry.ts";
import { buildChecksGate } from "../../support/rollout/gates.ts";

const missing: Record<string, string[]> = {
  "verify-key": ["monitor.root_key", "monitor.key"],
  "rate-limit": ["monitor.root_key"],
};

const targets: GateTargets = {
  known: ["verify-key", "rate-limit", "liveness"],
  whyOff: (check) => missing[check] ?? [],
  webhooks: ["ci"],
  rows: [],
  hasPrometheus: false,
  hasCounters: false,
};

function refusalOf(...checks: string[]) {
  try {
    requireGates([buildChecksGate({ checks })], targets);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { code: error.code, status: error.status, lines: error.message.split("\n") };
  }
  return undefined;
}

it("the rule accepts a gate whose checks all run, and a rollout without a gate", () => {
  expect(refusalOf("liveness")).toBeUndefined();
  expect(() => requireGates([], targets)).not.toThrow();
});

it("the refusal has a line for each check that is off, with the settings to change", () => {
  expect(refusalOf("liveness", "verify-key", "rate-limit")).toEqual({
    code: "check_off",
    status: 409,
    lines: [
      "gate.checks: verify-key is off, and a gate with it would never open: set monitor.root_key and monitor.key, or leave it out",
      "gate.checks: rate-limit is off, and a gate with it would never open: set monitor.root_key, or leave it out",
    ],
  });
});

it("the refusal names a check that does not exist before those that are off", () => {
  expect(refusalOf("verify-key", "verify-kee")).toMatchObject({
    code: "unknown_check",
    status: 400,
    lines: [expect.stringContaining("there is no API check verify-kee")],
  });
});
