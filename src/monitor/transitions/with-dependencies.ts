/** Asks what a check depends on, before its alert opens. */
import { type ObjectContext, TerminalError } from "@restatedev/restate-sdk";
import type { RolloutMark } from "#alerts/contract.ts";
import type { OpenAlert } from "#monitor/contract.ts";
import { apiCheckObject, heartbeatObject } from "#monitor/internal.ts";
import type { Dependency } from "#monitor/related.ts";
import {
  type Answer,
  type Barrier,
  type DependencyState,
  evaluateOpening,
  type Marks,
  type Opening,
  withBarrier,
  withoutMarks,
} from "#monitor/rules/suppression.ts";
import type { Decision } from "#monitor/rules/verdict.ts";
import { withRollout } from "./hand-over.ts";

type MarkedState = Marks & { status: string; alert: OpenAlert | null };

type Question<State> = Opening & {
  check: { dependsOn?: readonly Dependency[] | undefined };
  before: State;
  isQuiet: boolean;
};

type Decider<State> = {
  decide: (how: { isQuiet: boolean; rollout: RolloutMark | null }) => Decision<State>;
} & (
  | { readRollout: () => Promise<RolloutMark | null> }
  /** The rollout in progress, if it is known already. */
  | { rollout: RolloutMark | null }
);

/**
 * Decides. If that would open an alert, asks what the check depends on: while one of them fails, no alert
 * opens, and the state says why not; while one of them may turn out to fail, the alert is pending.
 */
export async function withDependencies<State extends MarkedState>(
  ctx: ObjectContext,
  asked: Question<State>,
  deciding: Decider<State>,
): Promise<Decision<State>> {
  const { check, before, isQuiet, atMs, runAtMs } = asked;
  const { dependsOn = [] } = check;
  const finish = (isBarred: boolean) => decideNow(ctx, { ...deciding, isQuiet: isBarred });
  const { transition } = deciding.decide({ isQuiet: false, rollout: null });
  if (transition?.kind !== "opened") return withMarksOf(await finish(isQuiet));
  const sinceMs = before.pendingAlert?.runAtMs ?? runAtMs;
  const answers = dependsOn.length === 0 ? [] : await ask(ctx, dependsOn, sinceMs);
  const evaluated = evaluateOpening(before, { atMs, runAtMs }, answers);
  // Nobody waits for an alert that would not open.
  const barrier: Barrier = isQuiet && evaluated.kind === "pending" ? { kind: "none" } : evaluated;
  const decision = await finish(isQuiet || barrier.kind !== "none");
  const state = withBarrier(decision.state, barrier, { atMs, runAtMs, failure: transition });
  return { ...decision, state };
}

/** Marks last only while the check fails without an alert, or is silent. */
function withMarksOf<State extends MarkedState>(decision: Decision<State>): Decision<State> {
  const { status, alert } = decision.state;
  const isMarked = alert === null && (status === "failed" || status === "silent");
  return isMarked ? decision : { ...decision, state: withoutMarks(decision.state) };
}

function decideNow<State>(
  ctx: ObjectContext,
  { decide, isQuiet, ...known }: Decider<State> & { isQuiet: boolean },
): Promise<Decision<State>> {
  const decideIn = (rollout: RolloutMark | null) => decide({ isQuiet, rollout });
  if ("rollout" in known) return Promise.resolve(decideIn(known.rollout));
  return withRollout(ctx, known.readRollout, decideIn);
}

/** An object that does not answer in this time suppresses nothing. */
const answerMs = 3_000;

/** Asks all at once. Their handlers are shared: they answer while another call holds their object. */
async function ask(
  ctx: ObjectContext,
  dependsOn: readonly Dependency[],
  sinceMs: number,
): Promise<Answer[]> {
  const calls = dependsOn.map(({ id, kind }) => {
    const object =
      kind === "api" ? ctx.client(apiCheckObject, id) : ctx.client(heartbeatObject, id);
    return { id, answer: object.tellFailing({ sinceMs }).orTimeout(answerMs) };
  });
  const answers: Answer[] = [];
  for (const { id, answer } of calls) {
    const state = await answerOrNull(answer);
    if (state !== null) answers.push({ id, ...state });
  }
  return answers;
}

async function answerOrNull(answer: PromiseLike<DependencyState>): Promise<DependencyState | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TerminalError) return null;
    throw error;
  }
}
