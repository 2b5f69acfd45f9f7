import { describe, expect, it } from "vitest";
import { ProblemError } from "#kernel/problem.ts";
import {
  type Operation,
  operations,
  type RolloutStateName,
  rolloutStates,
} from "#rollout/contract.ts";
import { legalOperations, nextState } from "#rollout/rules/transitions.ts";

/** The table of docs/architecture.md, "States and transitions", written down once more by hand. */
const legal: Record<RolloutStateName, Partial<Record<Operation, RolloutStateName>>> = {
  idle: { Rollout: "in_progress" },
  in_progress: {
    Pause: "paused",
    Skip: "in_progress",
    Approve: "in_progress",
    Cancel: "cancelled",
  },
  paused: { Resume: "in_progress", Cancel: "cancelled", RollbackAll: "rolling_back" },
  completed: { Rollout: "in_progress" },
  cancelled: { Rollout: "in_progress", RollbackAll: "rolling_back" },
  rolling_back: {},
};

const pairs = rolloutStates.flatMap((state) =>
  operations.map((operation): [RolloutStateName, Operation] => [state, operation]),
);

describe("nextState", () => {
  it.each(pairs)("in %s treats %s as the documented table does", (state, operation) => {
    const expected = legal[state][operation];

    if (expected === undefined) {
      expect(() => nextState(operation, state)).toThrow(ProblemError);
    } else {
      expect(nextState(operation, state)).toBe(expected);
    }
  });

  it("names the state and what is legal now in its refusal", () => {
    expect(() => nextState("Resume", "cancelled")).toThrow(
      "Resume is not legal in state cancelled; legal now: Rollout, RollbackAll",
    );
  });

  it("refuses with 409", () => {
    expect(() => nextState("Rollout", "in_progress")).toThrow(
      expect.objectContaining({ status: 409, code: "illegal_operation" }),
    );
  });
});

describe("legalOperations", () => {
  it("has none while rolling back", () => {
    expect(legalOperations("rolling_back")).toEqual([]);
  });
});
