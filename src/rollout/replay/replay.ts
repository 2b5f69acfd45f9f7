/** Answers what another policy would have done with a past rollout. Pure. */
import { someOf } from "#kernel/text.ts";
import { toIso } from "#kernel/time.ts";
import { needsApproval } from "#rollout/conditions/approval.ts";
import type { ReplayPolicy, ReplayResult } from "./contract.ts";
import { type PlayedPolicy, type ReplayFacts, recordedPolicy, withPolicy } from "./facts.ts";
import { type Played, play } from "./play.ts";

/** Throws a `ProblemError` for a policy that does not fit this rollout. */
export function replay(facts: ReplayFacts, requested: ReplayPolicy): ReplayResult {
  const { played, unread, unplayed } = withReadChecks(facts, withPolicy(facts, requested));
  const { gateUnknown, ...would } = play(facts, played);
  const own = play(facts, withReadChecks(facts, recordedPolicy(facts)).played);
  const really = reallyOf(facts);
  return {
    rollout_id: facts.rolloutId,
    image: facts.image,
    started_at: toIso(facts.startedMs),
    really,
    would,
    fewer: really.ordered - would.ordered,
    longer_seconds: would.seconds - own.seconds,
    notes: notesOf(facts, {
      requested,
      played,
      unread,
      unplayed,
      would: { ...would, gateUnknown },
    }),
  };
}

function reallyOf({ status, members, startedMs, endedMs }: ReplayFacts): ReplayResult["really"] {
  const results = members.filter(({ result }) => result !== undefined);
  const failed = results.filter(({ result, stray }) => !result?.ok || stray !== undefined);
  return {
    ...status,
    ordered: results.length,
    failed: failed.length,
    seconds: (endedMs - startedMs) / 1_000,
  };
}

/** The policy without checks of its gates that have no stored run of that time, and without gates of other kinds. */
function withReadChecks(
  { runs }: ReplayFacts,
  policy: PlayedPolicy,
): { played: PlayedPolicy; unread: string[]; unplayed: string[] } {
  const read = new Set(runs.map(({ check }) => check));
  const ofChecks = policy.gates.filter((gate) => gate.kind === "checks");
  const gates = ofChecks
    .map((gate) => ({ ...gate, checks: gate.checks.filter((check) => read.has(check)) }))
    .filter(({ checks }) => checks.length > 0);
  return {
    played: { ...policy, gates },
    unread: ofChecks.flatMap(({ checks }) => checks.filter((check) => !read.has(check))),
    unplayed: policy.gates.filter(({ kind }) => kind !== "checks").map(({ name }) => name),
  };
}

/** The fields that the play follows; of any other a note says that it does not. */
const played = new Set([
  ...["wave_percentages", "gate", "gates", "on_failure", "max_failed", "soak_seconds", "approvals"],
  ...["exclude", "only", "regions", "canary_labels", "max_per_region", "max_unavailable", "reason"],
]);

type Outcome = {
  requested: ReplayPolicy;
  played: PlayedPolicy;
  unread: readonly string[];
  unplayed: readonly string[];
  would: Pick<Played, "end" | "unknown" | "wave" | "waves"> & { gateUnknown: true | undefined };
};

function notesOf(facts: ReplayFacts, outcome: Outcome): string[] {
  const skipped = Object.keys(outcome.requested).filter((name) => !played.has(name));
  const unlocated = facts.members.filter(({ region }) => region === "").length;
  const { max_per_region: cap, max_unavailable: unavailable } = outcome.played.policy;
  const notes: [boolean, string][] = [
    ...notesOfEnd(outcome),
    [
      facts.interventions > 0,
      `Operators resumed it or ended a wait ${timesOf(facts.interventions)}; nobody does in a replay.`,
    ],
    ...notesOfWaits(outcome),
    [
      outcome.played.gates.length > 0,
      "Runs of checks are those of that time: sentinels of later waves may have had the image by then.",
    ],
    [unlocated > 0, `The region and labels of ${countOf(unlocated)} are not recorded.`],
    [
      typeof cap === "string",
      "max_per_region is a share of the sentinels in this rollout, not of the whole fleet.",
    ],
    [
      unavailable !== undefined,
      "Sentinels that were unhealthy before their deploy are not recorded, and do not count in max_unavailable.",
    ],
    [
      outcome.unplayed.length > 0,
      `Only gates of checks are played: not ${someOf(outcome.unplayed, 5)}.`,
    ],
    [skipped.length > 0, `Not played: ${skipped.join(", ")}.`],
  ];
  return notes.filter(([holds]) => holds).map(([, note]) => note);
}

function notesOfEnd({ would }: Outcome): [boolean, string][] {
  const { unknown, wave, waves, end, gateUnknown } = would;
  return [
    [
      unknown > 0,
      `${countOf(unknown)} would have been ordered, too, and really had no result: they count as no failure.`,
    ],
    [
      end === "unknown" && wave < waves && gateUnknown === undefined,
      `Nothing that is known would have stopped it by wave ${wave} of ${waves}; no later sentinel has a result.`,
    ],
    [
      gateUnknown === true,
      "The gate would have read its checks for longer than their runs say something about the image.",
    ],
  ];
}

function notesOfWaits({ played: { policy, wavePercentages }, would, unread }: Outcome) {
  const started = Array.from({ length: would.wave }, (_, i) => ({ wave: i + 1, of: would.waves }));
  const approvals = started.filter((one) =>
    needsApproval(policy.approvals, { ...one, wavePercentages }),
  ).length;
  const notes: [boolean, string][] = [
    [
      unread.length > 0,
      `There are no stored runs of that time of ${someOf(unread, 5)}: the gate is played without.`,
    ],
    [
      approvals > 0,
      `An approval was needed ${timesOf(approvals)}, which takes no time in a replay.`,
    ],
  ];
  return notes;
}

function countOf(count: number): string {
  return count === 1 ? "1 sentinel" : `${count} sentinels`;
}

function timesOf(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
