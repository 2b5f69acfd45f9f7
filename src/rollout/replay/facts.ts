/** The recorded facts of a past rollout, and the waves and times that another policy makes of them. Pure. */
import { isDeepStrictEqual } from "node:util";
import type { Labels } from "#fleet/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { PauseCause, RolloutStateName } from "#rollout/contract.ts";
import type { CheckState, NamedGate } from "#rollout/gates/contract.ts";
import { gatesOf } from "#rollout/gates/registry.ts";
import { planRollout } from "#rollout/rules/plan.ts";
import type { HeadPolicy } from "#rollout/state.ts";
import type { ReplayPolicy, ReplayProblemCode } from "./contract.ts";

/** The first result of a deploy; times in Unix ms. `ofFleet`: the fleet's API failed, not the image. */
export type FirstResult = { ok: boolean; startMs: number; endMs: number; ofFleet?: true };

export type FactMember = {
  id: string;
  /** "" if it is not known. */
  region: string;
  labels: Labels;
  /** From 1; null: the request left it out. */
  wave: number | null;
  /** Absent: it never was ordered, or nobody knows its result. */
  result?: FirstResult;
  /** The time at which it failed after its success. */
  stray?: { atMs: number; ofFleet?: true };
  /** True if a pin held it back during its wave. */
  isPinned?: true;
};

/** A run of a check at all locations. `failure`: it counts as failed. */
export type CheckRun = {
  check: string;
  scheduledMs: number;
  decidedMs: number;
  isClean: boolean;
  failure: CheckState["failed_run"];
};

export type ReplayFacts = {
  rolloutId: string;
  image: string;
  policy: HeadPolicy;
  gates: NamedGate[];
  wavePercentages: number[];
  /** Of each wave there was: a cap per region makes several of one. */
  percentages: number[];
  startedMs: number;
  /** The end, or the last change of one that is paused. */
  endedMs: number;
  /** The size of the whole fleet, with those that ran the image already; absent: it is not known. */
  fleetSize?: number;
  status: {
    state: RolloutStateName;
    outcome: string | null;
    cause?: PauseCause;
    reason?: string;
    wave: number;
    waves: number;
  };
  /** Without those that pins left out of all waves: no policy takes them. */
  members: FactMember[];
  /** Of the checks of the gates, in the order of `decidedMs`; all there were until `runsUntilMs`. */
  runs: CheckRun[];
  runsUntilMs: number;
  /** Times that operators resumed it or ended a wait. */
  interventions: number;
};

/** The policy that is played: the recorded one, with the fields of the request instead of its own. */
export type PlayedPolicy = {
  policy: HeadPolicy;
  gates: readonly NamedGate[];
  wavePercentages: readonly number[];
};

export function recordedPolicy({ policy, gates, wavePercentages }: ReplayFacts): PlayedPolicy {
  return { policy, wavePercentages, gates };
}

/** Throws 400 for a list of soaks that does not fit the waves. */
export function withPolicy(facts: ReplayFacts, requested: ReplayPolicy): PlayedPolicy {
  const recorded = recordedPolicy(facts);
  const { wave_percentages: wavePercentages = recorded.wavePercentages, ...others } = requested;
  const { gate, gates, ...policy } = others;
  const played = { ...recorded.policy, ...policy };
  const { soak_seconds: soak } = played;
  if (Array.isArray(soak) && soak.length !== wavePercentages.length) {
    const detail = `policy.soak_seconds: has ${soak.length} times for ${wavePercentages.length} wave_percentages: give one number, or as many as there are`;
    throw new ProblemError<ReplayProblemCode>({ status: 400, code: "not_replayable", detail });
  }
  const isSame = gate === undefined && gates === undefined;
  return {
    policy: played,
    wavePercentages,
    gates: isSame ? recorded.gates : gatesOf({ gate, gates }, []),
  };
}

export type PlayedWave = { percentage: number; members: FactMember[] };

/** The recorded waves if the policy chooses the same ones, else those that a plan makes of these sentinels. */
export function wavesOf(facts: ReplayFacts, played: PlayedPolicy): PlayedWave[] {
  const { image, members } = facts;
  const isSame = isDeepStrictEqual(choiceOf(played), choiceOf(recordedPolicy(facts)));
  if (isSame) return recordedWaves(facts);
  const byId = new Map(members.map((member) => [member.id, member]));
  // They were not left out as running the image already, whatever name their image had.
  const fleet = members.map(({ id, region, labels }) => ({
    ...{ id, region, labels, image: "", running_image: "" },
    health: "unknown" as const,
  }));
  const { policy, wavePercentages } = played;
  const planned = planRollout(fleet, { image, wavePercentages, policy });
  return planned.waves.map((wave) => ({
    percentage: wave.percentage,
    members: wave.members.flatMap(({ id }) => byId.get(id) ?? []),
  }));
}

function recordedWaves({ members, percentages }: ReplayFacts): PlayedWave[] {
  const byWave = Map.groupBy(members, ({ wave }) => wave);
  return percentages.flatMap((percentage, i) => {
    const ofWave = byWave.get(i + 1) ?? [];
    return ofWave.length === 0 ? [] : [{ percentage, members: ofWave }];
  });
}

function choiceOf({ policy, wavePercentages }: PlayedPolicy) {
  const { canary_labels, regions, max_per_region, exclude, only } = policy;
  return { wavePercentages, canary_labels, regions, max_per_region, exclude, only };
}
