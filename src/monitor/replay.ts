/** Replays recorded results under other rules, with the same grading and verdicts: what would have alerted. */
import type { AlertTransition } from "#alerts/contract.ts";
import type { ApiCheck, CheckResult } from "./contract.ts";
import { regrade } from "./rules/grade.ts";
import { decide, newCheckState } from "./rules/verdict.ts";

export type ReplayRules = Pick<
  ApiCheck,
  "id" | "degradedAboveMs" | "failedAboveMs" | "failedRunThreshold"
> & { failedAtPercent: number };

type ReplayedRun = {
  scheduledAtMs: number;
  /** The locations that were to report then. */
  expected: readonly string[];
  results: readonly CheckResult[];
};

type ReplayedEpisode = {
  openedAtMs: number;
  /** null: still open at the end. */
  resolvedAtMs: number | null;
  reason: string;
  locations: string[];
};

type ReplayOutcome = {
  ok: number;
  degraded: number;
  failed: number;
  episodes: ReplayedEpisode[];
};

export type Replay = { take: (run: ReplayedRun) => void; outcome: () => ReplayOutcome };

/** `take` expects runs in the order of their ticks. Ignores mute and maintenance, which would hide alerts. */
export function createReplay(rules: ReplayRules): Replay {
  let state = newCheckState(0);
  const outcome: ReplayOutcome = { ok: 0, degraded: 0, failed: 0, episodes: [] };
  const verdictRules = {
    checkId: rules.id,
    failedRunThreshold: rules.failedRunThreshold,
    failedAtPercent: rules.failedAtPercent,
    isQuiet: false,
    rollout: null,
  };
  return {
    take({ scheduledAtMs, expected, results }) {
      const graded = results.map((result) => regrade(rules, result));
      for (const { grade } of graded) outcome[grade] += 1;
      const run = { scheduledAtMs, expected, results: graded, isClosed: true, atMs: scheduledAtMs };
      const { state: next, transition } = decide(state, run, verdictRules);
      state = next;
      if (transition !== null) note(outcome.episodes, transition);
    },
    outcome: () => outcome,
  };
}

function note(episodes: ReplayedEpisode[], { kind, atMs, reason, locations }: AlertTransition) {
  const last = episodes.at(-1);
  if (kind === "opened") episodes.push({ openedAtMs: atMs, resolvedAtMs: null, reason, locations });
  else if (last !== undefined) last.resolvedAtMs = atMs;
}
