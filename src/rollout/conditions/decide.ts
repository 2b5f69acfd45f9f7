/** May the next thing of a rollout start? One question, asked before each, with one answer. Pure. */
import { judgeApproval } from "./approval.ts";
import { judgeAvailability } from "./availability.ts";
import { judgeBudget } from "./budget.ts";
import { type Condition, type Facts, start, type Verdict } from "./condition.ts";
import { judgeGate } from "./gate.ts";
import { judgeResults } from "./results.ts";
import { judgeSoak } from "./soak.ts";
import { judgeWindow } from "./window.ts";

/** The order is that in which waits are reported. */
const conditions: readonly Condition[] = [
  judgeBudget,
  judgeResults,
  judgeSoak,
  judgeGate,
  judgeApproval,
  judgeWindow,
];

/** Conditions of the very moment of the start: asked last, when no other one waits. */
const atStart: readonly Condition[] = [judgeAvailability];

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
