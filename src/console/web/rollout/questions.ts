/** The effects of each operation, in the words of its confirmation. Pure. */
import type { LiveRollout } from "#console/contract.ts";
import { count, sentinels, shortImage } from "#console/web/format.ts";
import type { Question } from "#console/web/parts/confirm.tsx";
import type { RolloutStatus, StandingPart } from "#rollout/contract.ts";
import type { WaveView } from "#rollout/history/contract.ts";

export type Words = Omit<Question, "run">;

export function pauseQuestion({ status }: LiveRollout): Words {
  return {
    title: `Pause the rollout of ${shortImage(status.image ?? "")}?`,
    lines: [`Nothing more starts. In flight, and finishing: ${sentinels(status.in_flight)}.`],
    verb: "Pause the rollout",
    isGrave: false,
  };
}

export function cancelQuestion({ status, waves }: LiveRollout): Words {
  const left = status.total - status.succeeded - status.failed - status.in_flight;
  const isRunning = status.state === "in_progress";
  const inFlight =
    isRunning && status.in_flight > 0
      ? [`Deploys in flight finish: ${sentinels(status.in_flight)}.`]
      : [];
  return {
    title: `Cancel the rollout of ${shortImage(status.image ?? "")}?`,
    lines: [
      status.total_waves === 0
        ? "No wave has started: nothing is deployed."
        : `No wave starts after wave ${status.current_wave} of ${waves.length}. Not deployed: ${sentinels(left)}.`,
      ...inFlight,
      `${sentinels(status.succeeded)} on the new image: not changed. A rollback is still possible afterwards.`,
    ],
    verb: "Cancel the rollout",
    isGrave: false,
  };
}

function nextWords({ wave, size, succeeded, failed }: WaveView, hasMore: boolean): string {
  if (!hasMore) return `Wave ${wave} starts: ${sentinels(size)} get`;
  return `Wave ${wave} continues: ${sentinels(size - succeeded - failed)} of it get`;
}

/** The fleet is not known before the first wave. */
const resumeFirst: Words = {
  title: "Resume the rollout?",
  lines: ["The fleet is listed, and the first wave starts as soon as it may."],
  verb: "Resume the rollout",
  isGrave: false,
};

export function resumeQuestion(rollout: LiveRollout): Words {
  const { status, waves } = rollout;
  if (status.total_waves === 0) return resumeFirst;
  const current = waves[status.current_wave - 1];
  const hasMore = current !== undefined && current.succeeded + current.failed < current.size;
  const next = hasMore ? current : waves[status.current_wave];
  const failed = `Failed, not retried unless ticked: ${sentinels(status.failed)}.`;
  return {
    title: "Resume the rollout?",
    lines: [
      ...(hasMore ? [] : waitLines(rollout, next)),
      next === undefined
        ? "This wave was the last one: nothing more is deployed."
        : `${nextWords(next, hasMore)} ${shortImage(status.image ?? "")}.`,
      ...(status.failed > 0 ? [failed] : []),
    ],
    verb: resumeVerb(rollout, next, hasMore),
    isGrave: false,
    ...(status.failed > 0 && {
      field: { label: "Retry the failed sentinels of this wave first", kind: "tick" as const },
    }),
  };
}

/** The steps before the next wave starts. */
function waitLines(rollout: LiveRollout, next: WaveView | undefined): string[] {
  const { current_wave: current } = rollout.status;
  const mayWait = current > 0 && mayHaveInterruptedWait(rollout.status);
  const isDue = next !== undefined && isApprovalDue(rollout, next.wave);
  return [
    ...(mayWait ? [`The wait after wave ${current} goes on first.`] : []),
    ...(isDue ? [`Wave ${next.wave} then waits for an approval.`] : []),
  ];
}

function resumeVerb(rollout: LiveRollout, next: WaveView | undefined, hasMore: boolean): string {
  if (next === undefined) return "Complete the rollout";
  if (hasMore) return `Continue wave ${next.wave}`;
  return isApprovalDue(rollout, next.wave) ? "Resume the rollout" : `Start wave ${next.wave}`;
}

/** A soak or a gate that was interrupted goes on; one that has failed does not. */
function mayHaveInterruptedWait({ cause, policy, gate }: LiveRollout["status"]): boolean {
  const wasInterrupted =
    cause !== undefined && ["operator", "run", "version", "drift"].includes(cause);
  return wasInterrupted && (policy?.soak_seconds !== undefined || gate !== undefined);
}

/** The question for a rollout whose image no sentinel has: there is nothing to restore. */
function rollbackOfNone({ status }: LiveRollout, isTicked: boolean): Words {
  const ends = "the rollout ends as cancelled.";
  return {
    title: `Roll back the rollout of ${shortImage(status.image ?? "")}?`,
    lines: [
      isTicked
        ? `No other sentinel has the new image, and ${ends}`
        : `No sentinel has the new image: nothing is restored, and ${ends}`,
      ...failedLines(status, isTicked, "They stay ordered to run the new image unless ticked."),
    ],
    verb: "Roll back",
    isGrave: false,
    ...failedField(status),
  };
}

/** Ticked where one of them serves nothing: only its previous image brings it back. */
function failedField(status: LiveRollout["status"]): Pick<Words, "field"> {
  if (status.failed === 0) return {};
  const ticked = downOf(status) !== undefined && { isTicked: true as const };
  return { field: { label: "Roll back failed sentinels too", kind: "tick", ...ticked } };
}

function failedLines(status: LiveRollout["status"], isTicked: boolean, still: string): string[] {
  const { failed } = status;
  if (failed === 0) return [];
  const down = downOf(status);
  const nothing = down === undefined ? "" : ` ${down.brief}.`;
  return isTicked
    ? [`Failed, and put back too: ${sentinels(failed)}.${nothing}`]
    : [`Failed: ${sentinels(failed)}. ${still}${nothing}`];
}

/** `previous_images` has only the most frequent images; the waves count every sentinel. */
export function rollbackQuestion(
  rollout: LiveRollout,
  isTicked = downOf(rollout.status) !== undefined,
): Words {
  const { status, waves, previous_images: images } = rollout;
  const named = images.reduce((sum, image) => sum + image.sentinels, 0);
  const moved = waves.reduce((sum, wave) => sum + wave.succeeded + wave.not_reverted, 0);
  const total = Math.max(named, moved);
  if (total === 0) return rollbackOfNone(rollout, isTicked);
  const [only] = images;
  const title =
    only?.sentinels === total
      ? `Roll back ${sentinels(total)} to ${shortImage(only.image)}?`
      : `Roll back ${sentinels(total)} to their previous images?`;
  const each = images.map((image) => `${sentinels(image.sentinels)} back to ${image.image}.`);
  const rest = `${sentinels(total - named)} back to other images.`;
  return {
    title,
    lines: [
      ...each,
      ...(total > named ? [rest] : []),
      ...failedLines(status, isTicked, "They are not changed unless ticked."),
      "No other operation is possible until the rollback ends.",
    ],
    verb: `Roll back ${count(isTicked ? total + status.failed : total)}`,
    isGrave: status.state !== "paused",
    ...failedField(status),
  };
}

type Facts = Pick<LiveRollout, "status" | "wave_percentages">;

/** `wave` is from 1; src/rollout/conditions/approval.ts decides the same. */
export function isApprovalDue(rollout: Facts, wave: number): boolean {
  const { policy, approved = [], total_waves: of } = rollout.status;
  const approvals = policy?.approvals;
  if (approvals === undefined || approved.some((one) => one.wave === wave)) return false;
  if (approvals === "every_wave") return true;
  if (wave === 1) return rollout.wave_percentages.length === 1;
  return approvals === "after_first" || wave === of;
}

/** undefined: it does not stand still, or has ended as everybody expects. */
export function situationOf({ status }: { status: RolloutStatus }): StandingPart[] | undefined {
  const { state, outcome, total, standing = [] } = status;
  const where = total === 0 ? [nothingRuns] : standing;
  if (state === "paused") return [...where, nothingStarts];
  // After a rollback only the sentinels that serve nothing are known.
  if (outcome === "rolled_back") return standing.length > 0 ? standing : undefined;
  return state === "cancelled" ? where : undefined;
}

const nothingRuns = said("No wave has started: nothing is deployed.");
const nothingStarts = said("Nothing more starts until you decide.");

function said(text: string): StandingPart {
  return { text, brief: text, down: 0, failed_on_image: 0 };
}

/** About the failed sentinels that serve nothing, as far as it is known. */
export function downOf({ standing = [] }: RolloutStatus): StandingPart | undefined {
  return standing.find(({ down }) => down > 0);
}

/** True if the rollout waits for something that an operator may skip: an approval has to be given. */
/** A Skip gives no approval, and no confirmation of a gate. */
export function isSkippable({ waiting_for: what, gate }: RolloutStatus): boolean {
  if (what !== "gate" || gate === undefined) return what != null && what !== "approval";
  const isMissing = gate.checks.some(({ clean_runs, wanted_runs }) => clean_runs < wanted_runs);
  return (
    isMissing || gate.gates.some(({ kind, verdict }) => kind !== "pause" && verdict !== "pass")
  );
}

export function skipLabel({ waiting_for: what }: RolloutStatus): string {
  return what === "window" ? "Start all the same…" : "Skip the wait…";
}

/** The wait that the operator saw, as the request names it. */
export function seenWait({ waiting_for: what, current_wave: wave }: RolloutStatus) {
  return { waiting_for: what ?? undefined, wave };
}

export function skipQuestion({ waiting_for: what, reason }: RolloutStatus): Words {
  const field = { label: "Reason", kind: "text" } as const;
  if (what !== "window") {
    return {
      title: `Skip the ${what ?? "wait"}?`,
      lines: ["What comes next starts at once. The reason is kept in the history."],
      verb: "Skip it",
      isGrave: false,
      field,
    };
  }
  return {
    title: "Start the wave all the same?",
    lines: [
      ...(reason === undefined ? [] : [`The rollout ${reason}.`]),
      "The wave starts at once. This holds for this wave only: the next one waits again.",
      "The reason is kept in the history.",
    ],
    verb: "Start the wave",
    isGrave: false,
    field,
  };
}
