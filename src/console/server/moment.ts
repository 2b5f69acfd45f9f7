/** Selects the moment that a page shows: that of history, because all numbers are counted from its rows. Pure. */
import type { Counts } from "#console/counts.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import type { Member, RecordedRollout } from "#rollout/history/contract.ts";
import type { MapRow } from "./columns.ts";

/** A rollout, its members and its fleet, all read at one moment. `recorded`: undefined while history lacks it. */
export type Moment = { recorded: RecordedRollout | undefined; members: Member[]; fleet: MapRow[] };

/** `fleet`: undefined for that of the rollout; `limitMs`: of each of its statements, absent for that of all others. */
export type ReadMoment = (of: {
  rolloutId: string | null;
  fleet?: string | undefined;
  limitMs?: number | undefined;
}) => Promise<Moment>;

/**
 * The status to show beside what history has. The rollout itself is ahead of history by some milliseconds, or for
 * longer while the database is slow; and history was read a little later. Where the two are at different steps,
 * history's words hold: a rollout must not be shown as completed while results are still on their way.
 */
export function statusAt(live: RolloutStatus, recorded: RolloutStatus): RolloutStatus {
  const status = isSameStep(live, recorded) ? live : recorded;
  return {
    ...status,
    total: Math.max(live.total, recorded.total),
    total_waves: Math.max(live.total_waves, recorded.total_waves),
  };
}

/**
 * The status before history knows its waves and their members: for milliseconds, or while the database is slow, the page
 * says that the fleet is not listed yet.
 */
export function withKnownFleet(
  status: RolloutStatus,
  { members, waves }: { members: readonly Member[]; waves: RecordedRollout["waves"] },
): RolloutStatus {
  if (waves.length > 0 && members.some(({ wave }) => wave !== null)) return status;
  return { ...status, total: 0, total_waves: 0 };
}

/** The members to show: while the fleet is not listed yet none is of a wave. */
export function membersAt(status: RolloutStatus, members: readonly Member[]): readonly Member[] {
  return status.total > 0 ? members : members.filter(({ wave }) => wave === null);
}

/** True if history is at the step at which the rollout is. */
export function isSameStep(live: RolloutStatus, recorded: RolloutStatus): boolean {
  // A rollback that is due is told as soon as it begins.
  const isDue = live.state === "rolling_back" && recorded.state === "paused";
  const isSameState = live.state === recorded.state || isDue;
  return isSameState && live.current_wave === recorded.current_wave;
}

type Results = Pick<Counts, "succeeded" | "failed">;

/** True if the rollout waits, which says that a wave is over, while results of the wave are still on their way. */
export function hasEarlyWait(status: RolloutStatus, { succeeded, failed }: Results): boolean {
  const isWaiting = status.waiting_for != null || status.gate !== undefined;
  if (status.state !== "in_progress" || !isWaiting) return false;
  return succeeded + failed < status.succeeded + status.failed;
}

/** The status without a wait that is early. */
export function withoutEarlyWait(status: RolloutStatus, results: Results): RolloutStatus {
  if (!hasEarlyWait(status, results)) return status;
  const { gate: _gate, until: _until, reason: _reason, ...running } = status;
  return { ...running, waiting_for: null };
}
