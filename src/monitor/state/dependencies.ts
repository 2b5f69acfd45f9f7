/** Decides an alert that would open by what its check depends on. Pure: the states of those are given. */

import type { RolloutMark } from "#alerts/contract.ts";
import type { OpenAlert } from "#monitor/contract.ts";
import type { Dependency } from "#monitor/related.ts";
import {
  type Barrier,
  evaluateOpening,
  type Marks,
  type Opening,
  withBarrier,
  withoutMarks,
} from "#monitor/rules/suppression.ts";
import type { Decision } from "#monitor/rules/verdict.ts";
import type { Moment } from "./row.ts";

type MarkedState = Marks & { status: string; alert: OpenAlert | null };

type Question<State> = Opening & {
  check: { dependsOn?: readonly Dependency[] | undefined };
  before: State;
  isQuiet: boolean;
};

type Decide<State> = (how: { isQuiet: boolean; rollout: RolloutMark | null }) => Decision<State>;

/**
 * Decides. If that would open an alert, looks at what the check depends on: while one of them fails, no alert
 * opens, and the state says why not; while one of them may turn out to fail, the alert is pending.
 */
export function withDependencies<State extends MarkedState>(
  { check, before, isQuiet, atMs, runAtMs }: Question<State>,
  { rollout = null, dependencyOf }: Pick<Moment, "rollout" | "dependencyOf">,
  decide: Decide<State>,
): Decision<State> {
  const { dependsOn = [] } = check;
  const { transition } = decide({ isQuiet: false, rollout: null });
  if (transition?.kind !== "opened") return withMarksOf(decide({ isQuiet, rollout }));
  const sinceMs = before.pendingAlert?.runAtMs ?? runAtMs;
  const answers = dependsOn.flatMap(({ id }) => {
    const state = dependencyOf(id, sinceMs);
    return state === null ? [] : { id, ...state };
  });
  const evaluated = evaluateOpening(before, { atMs, runAtMs }, answers);
  // Nobody waits for an alert that would not open.
  const barrier: Barrier = isQuiet && evaluated.kind === "pending" ? { kind: "none" } : evaluated;
  const decision = decide({ isQuiet: isQuiet || barrier.kind !== "none", rollout });
  const state = withBarrier(decision.state, barrier, { atMs, runAtMs, failure: transition });
  return { ...decision, state };
}

/** Marks last only while the check fails without an alert, or is silent. */
function withMarksOf<State extends MarkedState>(decision: Decision<State>): Decision<State> {
  const { status, alert } = decision.state;
  const isMarked = alert === null && (status === "failed" || status === "silent");
  return isMarked ? decision : { ...decision, state: withoutMarks(decision.state) };
}
