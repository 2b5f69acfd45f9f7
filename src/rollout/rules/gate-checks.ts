/** Refuses a gate that could never open, and would only time out. Pure. */
import { noSuch } from "#kernel/nearest.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { RolloutProblemCode } from "#rollout/contract.ts";
import type { Gate } from "#rollout/policy/contract.ts";

export type GateChecks = {
  /** The ids of the API checks that a gate may name. */
  known: readonly string[];
  /** The names of the settings without which this check is off; empty: it runs. */
  whyOff: (check: string) => readonly string[];
};

/** Throws 400 `unknown_check` for a check that is not defined, 409 `check_off` for checks that are off. */
export function requireGateChecks(gate: Gate | undefined, { known, whyOff }: GateChecks): void {
  const { checks } = gate ?? { checks: [] };
  const unknown = checks.find((check) => !known.includes(check));
  if (unknown !== undefined) throw unknownCheck(unknown, known);
  const lines = checks.flatMap((check) => {
    const missing = whyOff(check);
    if (missing.length === 0) return [];
    return [
      `gate.checks: ${check} is off, and a gate with it would never open: set ${missing.join(" and ")}, or leave it out`,
    ];
  });
  if (lines.length > 0) throw checkOff(lines.join("\n"));
}

function unknownCheck(check: string, known: readonly string[]) {
  return new ProblemError<RolloutProblemCode>({
    status: 400,
    code: "unknown_check",
    detail: noSuch("API check", check, known),
  });
}

function checkOff(detail: string) {
  return new ProblemError<RolloutProblemCode>({ status: 409, code: "check_off", detail });
}
