import { describe, expect, it } from "vitest";
import { ProblemError } from "#kernel/problem.ts";
import {
  type Operation,
  operations,
  type RolloutStateName,
  rolloutStates,
} from "#rollout/contract.ts";
import { legalOperations, nextState } from "#rollout/rules/transitions.ts";
import { buildHead } from "../../support/rollout/rollout-builders.ts";

/** The table of src/rollout/README.md, "States and transitions", written down once more by hand. */
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

const headIn = (state: RolloutStateName) => (state === "idle" ? null : buildHead({ state }));

describe("nextState", () => {
  it.each(pairs)("in %s treats %s as the documented table does", (state, operation) => {
    const expected = legal[state][operation];

    if (expected === undefined) {
      expect(() => nextState(operation, headIn(state))).toThrow(ProblemError);
    } else {
      expect(nextState(operation, headIn(state))).toBe(expected);
    }
  });

  it("names the state and what is legal now in its refusal", () => {
    expect(() => nextState("Resume", buildHead({ state: "cancelled" }))).toThrow(
      "Resume is not legal in state cancelled; legal now: Rollout, RollbackAll",
    );
  });

  it("names the rollout there is, its wave, its start, its starter and the command that follows it", () => {
    const head = buildHead({ currentWave: 2, startedBy: "ingress-token", fleet: "staging" });

    expect(() => nextState("Rollout", head)).toThrow(
      "The rollout of registry.example.com/vedette/sentinel:v2 is in progress (wave 2 of 2, started " +
        "2026-01-01 00:00:00 UTC by the ingress token (no operator)). Follow it: vedette rollout watch --fleet staging. ",
    );
  });

  it("says that a rollout has to be paused before it is rolled back", () => {
    expect(() => nextState("RollbackAll", buildHead({ fleet: "staging" }))).toThrow(
      "Pause it first: vedette rollout pause --fleet staging, then roll back. Follow it: ",
    );
  });

  it("says who has paused the rollout there is", () => {
    const paused = { by: "ada", at: "2026-11-28T02:00:00.000Z" };

    expect(() => nextState("Rollout", buildHead({ state: "paused", paused }))).toThrow(
      "is paused by ada at 2026-11-28 02:00:00 UTC (wave 1 of 2, ",
    );
  });

  it("says that there was none, and how to start one", () => {
    expect(() => nextState("Resume", null)).toThrow(
      "There was no rollout yet. Start one: vedette rollout start <image>. Resume is not legal in state idle",
    );
  });

  it("says that a rollback has to end when nothing is legal", () => {
    expect(() => nextState("Pause", buildHead({ state: "rolling_back" }))).toThrow(
      /Pause is not legal in state rolling_back; legal now: none \(wait for the rollback to end\)$/,
    );
  });

  it("refuses with 409", () => {
    expect(() => nextState("Rollout", buildHead())).toThrow(
      expect.objectContaining({ status: 409, code: "illegal_operation" }),
    );
  });
});

describe("legalOperations", () => {
  it("has none while rolling back", () => {
    expect(legalOperations("rolling_back")).toEqual([]);
  });
});
