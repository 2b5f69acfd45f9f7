/** The answer of Plan. */
import type { CiEvidence } from "#ci/contract.ts";
import type { FleetMember } from "#fleet/contract.ts";
import { someOf } from "#kernel/text.ts";
import { formatDuration, toIso } from "#kernel/time.ts";
import { selectorOf } from "#rollout/choice/leave-out.ts";
import { needsApproval } from "#rollout/conditions/approval.ts";
import { allowedUnavailable } from "#rollout/conditions/availability.ts";
import { soakSecondsOf } from "#rollout/conditions/soak.ts";
import { earliestStarts } from "#rollout/conditions/window.ts";
import type { RolloutPlan } from "#rollout/contract.ts";
import type { NamedGate } from "#rollout/gates/contract.ts";
import { kindOf } from "#rollout/gates/registry.ts";
import type { Policy } from "#rollout/policy-contract.ts";
import type { HeadPolicy } from "#rollout/state.ts";
import { type Limit, limitOf } from "#rollout/values-contract.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import type { PlannedRollout, WaveMembers } from "./plan.ts";

/** The number of sentinels that the answer of Plan names for each wave, and of those left out. */
const namedPerWave = 100;

type PlanInput = {
  image: string;
  ci: CiEvidence[];
  hindrances: string[];
  /** The requested percentages: in a small fleet there are fewer waves. */
  wavePercentages: readonly number[];
  policy: HeadPolicy;
  gates?: NamedGate[];
  fleetSize: number;
  /** Names in pins and settings that no sentinel has. */
  warnings?: string[];
  windows: readonly RolloutWindow[];
  nowMs: number;
};

export function describePlan(planned: PlanInput, { waves, leftOut }: PlannedRollout): RolloutPlan {
  const { image, ci, hindrances, wavePercentages, policy, fleetSize, windows, nowMs } = planned;
  const { gates = [], warnings = [] } = planned;
  const total = waves.reduce((sum, wave) => sum + wave.members.length, 0);
  const { on_failure = "pause", max_failed: limits, include_failed: _, ...choice } = policy;
  const canaries = canariesIn(waves, policy);
  const soaks = waves.map(({ percentage }) =>
    soakSecondsOf(policy, { percentage }, wavePercentages),
  );
  const soaksMs = soaks.map((seconds) => seconds * 1_000);
  const starts = earliestStarts(windows, { policy, soaksMs, nowMs });
  const plan = {
    image,
    total,
    already_running: fleetSize - total - leftOut.length,
    left_out_count: leftOut.length,
    left_out: leftOut.slice(0, namedPerWave).map(({ id, by, reason }) => ({ id, pin: by, reason })),
    canaries: canaries.slice(0, namedPerWave),
    canary_count: canaries.length,
    warnings,
    merged: mergedInto(waves, wavePercentages),
    gates,
    policy: { ...choice, on_failure, ...(limits !== undefined && { max_failed: limits }) },
    max_unavailable: allowedUnavailable({ policy, fleetSize, total }) ?? null,
    on_failure,
    ci,
    hindrances,
    max_failed: countOf(limits?.in_all, total),
    waves: waves.map(({ percentage, covered, members }, i) => ({
      wave: i + 1,
      percentage,
      size: members.length,
      covered,
      regions: countByRegion(members),
      max_failed: countOf(limits?.per_wave, members.length),
      soak_seconds: soaks[i] ?? 0,
      needs_approval: needsApproval(policy.approvals, {
        wave: i + 1,
        of: waves.length,
        wavePercentages,
      }),
      earliest_start: isoOf(starts[i]),
      sentinels: members.slice(0, namedPerWave).map((member) => member.id),
    })),
  };
  return { ...plan, notes: notesOn({ ...plan, gates }) };
}

function notesOn(plan: Omit<RolloutPlan, "notes" | "gates"> & { gates: NamedGate[] }): string[] {
  const {
    total,
    already_running: running,
    left_out_count: leftOut,
    canaries,
    gates,
    merged,
  } = plan;
  const { canary_labels: labels, regions = [] } = plan.policy;
  const noCanary = labels === undefined ? "none, no labels name any" : "none that gets the image";
  return [
    ...(total === 0 ? [nothingWords(running, leftOut)] : []),
    `Canaries first: ${someOf(canaries, 10, plan.canary_count) || noCanary}`,
    ...(leftOut === 0 ? ["Left out: none"] : []),
    ...(regions.length === 0
      ? []
      : [
          `Order: ${regions.join(", ")} first, then all other regions (only these regions: --only-regions)`,
        ]),
    ...(gates.length === 0 ? ["Gate: none"] : []),
    ...gates.map((gate) => `Gate before each next wave: ${kindOf(gate).describe(gate)}`),
    ...(plan.max_unavailable === null
      ? []
      : [`Unhealthy, failed or in flight at one time: ${plan.max_unavailable} at most`]),
    ...((plan.policy.watch_for ?? 0) === 0 ? [] : [watchWords(plan.policy)]),
    ...merged.map(
      ({ percentage, wave }) =>
        `Merged: ${percentage} % adds no sentinel, it is part of wave ${wave}`,
    ),
  ];
}

function watchWords({ watch_for = 0, on_failure }: Policy): string {
  const then = on_failure === "rollback" ? "restores the previous images" : "is announced";
  return `Watched once it has completed: ${formatDuration(watch_for * 1_000)}; a fault ${then}`;
}

export function nothingWords(running: number, leftOut: number): string {
  const all = running + leftOut;
  if (all === 0) return "nothing to do: the fleet has no sentinels";
  if (leftOut > 0)
    return `nothing to do: ${running} of ${all} sentinels run it already, ${leftOut} left out`;
  return `nothing to do: ${all === 1 ? "the only sentinel runs" : `all ${all} sentinels run`} it already`;
}

function canariesIn(
  waves: readonly WaveMembers[],
  { canary_labels: labels }: Pick<Policy, "canary_labels">,
): string[] {
  if (labels === undefined) return [];
  const isCanary = selectorOf({ labels });
  return waves.flatMap(({ members }) => members.filter(isCanary).map(({ id }) => id));
}

/** Returns the percentages that, in a small fleet, cover no more sentinels than the one before. */
function mergedInto(
  waves: readonly WaveMembers[],
  wavePercentages: readonly number[],
): RolloutPlan["merged"] {
  if (waves.length === 0) return [];
  const own = new Set(waves.map(({ percentage }) => percentage));
  return wavePercentages
    .filter((percentage) => !own.has(percentage))
    .map((percentage) => ({
      percentage,
      wave: waves.findLastIndex((wave) => wave.percentage < percentage) + 1,
    }));
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined ? null : toIso(ms);
}

function countOf(limit: Limit | undefined, total: number): number | null {
  return limit === undefined ? null : limitOf(limit, total);
}

function countByRegion(members: readonly FleetMember[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { region } of members) counts.set(region, (counts.get(region) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
