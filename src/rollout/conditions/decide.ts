/** May the next thing of a rollout start? One question, asked before each, with one answer. Pure. */
import { evaluateApproval } from "./approval.ts";
import { evaluateAvailability } from "./availability.ts";
import { evaluateBudget } from "./budget.ts";
import { type Condition, type Facts, start, type Verdict } from "./condition.ts";
import { evaluateDoubt, evaluateGate } from "./gate.ts";
import { unresolved } from "./next.ts";
import { evaluateSoak } from "./soak.ts";
import { evaluateWindow } from "./window.ts";

/** A wave whose batches were killed has members without a result: nothing starts after it before a Resume. */
const evaluateResults: Condition = ({ head, wave, next }) => {
  const ended = wave === undefined ? undefined : head.waves[wave];
  if (next.kind === "deploy" || ended === undefined || unresolved(ended) === 0) return start;
  const reason = `${unresolved(ended)} deploys of the wave ended without a result; Resume tries them again`;
  return { action: "stop", cause: "run", reason, isOfImage: false };
};

/** The order is that in which waits are reported. */
const conditions: readonly Condition[] = [
  evaluateBudget,
  evaluateResults,
  evaluateSoak,
  evaluateGate,
  evaluateApproval,
  evaluateWindow,
];

/** Conditions of the very moment of the start: asked last, when no other one waits. */
const atStart: readonly Condition[] = [evaluateDoubt, evaluateAvailability];

export function mayStart(facts: Facts): Verdict {
  const verdict = strongest(conditions, facts);
  return verdict.action === "start" ? strongest(atStart, facts) : verdict;
}

/** Whatever has to stop stops, however much there is to wait for. */
function strongest(asked: readonly Condition[], facts: Facts): Verdict {
  const verdicts = asked.map((condition) => condition(facts));
  return (
    verdicts.find(({ action }) => action === "stop") ??
    verdicts.find(({ action }) => action === "wait") ??
    verdicts.find(({ action }) => action === "look") ??
    start
  );
}
