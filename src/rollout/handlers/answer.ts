/** Converts the durable state to the handlers' answers. */
import { isLeftBehind, type RollbackResult, type RolloutStatus } from "#rollout/contract.ts";
import { viewGates } from "#rollout/gates/registry.ts";
import { standingOf } from "#rollout/rules/standing.ts";
import { isRunning } from "#rollout/rules/transitions.ts";
import { type RolloutHead, reasonSampleLimit } from "#rollout/state.ts";

const nothingEverRan: RolloutStatus = {
  rollout_id: null,
  state: "idle",
  image: null,
  current_wave: 0,
  total_waves: 0,
  total: 0,
  succeeded: 0,
  failed: 0,
  in_flight: 0,
  failed_sentinels: [],
  started_at: null,
  updated_at: null,
};

export function toStatus(head: RolloutHead | null): RolloutStatus {
  if (head === null) return nothingEverRan;
  // After a rollback the counts are no longer of those that run the new image.
  const standing = standingOf(head).filter((part) => isLeftBehind(part) || !wasRolledBack(head));
  return {
    rollout_id: head.rolloutId,
    ...(head.fleet !== undefined && { fleet: head.fleet }),
    // The rollback begins at once: nobody can act on the pause before it.
    state: head.rollbackDue === true ? "rolling_back" : head.state,
    image: head.image,
    current_wave: head.currentWave,
    total_waves: head.totalWaves,
    total: head.total,
    succeeded: head.succeeded,
    failed: head.failed,
    in_flight: orderedInFlight(head),
    failed_sentinels: head.failedSample.slice(0, reasonSampleLimit),
    ...(standing.length > 0 && { standing }),
    started_at: head.startedAt,
    updated_at: head.updatedAt,
    ...(head.leftOut !== undefined && { left_out: head.leftOut }),
    ...(head.reason !== undefined && { reason: head.reason }),
    ...(head.cause !== undefined && { cause: head.cause }),
    ...(head.paused !== undefined && { paused: head.paused }),
    ...(head.gateStatus !== undefined && { gate: viewGates(head.gateStatus) }),
    ...waitOf(head),
    ...(head.watchUntil !== undefined && { watch_until: head.watchUntil }),
    ...(head.approved !== undefined && { approved: head.approved }),
    outcome: outcomeOf(head),
    ...policyOf(head),
    ...(head.ci !== undefined && { ci: head.ci }),
    ...stillOrdered(head),
  };
}

function waitOf(head: RolloutHead): Pick<RolloutStatus, "waiting_for" | "until" | "reason"> {
  const { waitingFor, reason, until } = head.wait ?? {};
  if (head.state !== "in_progress" || waitingFor === undefined) return { waiting_for: null };
  return {
    waiting_for: waitingFor,
    ...(reason !== undefined && { reason }),
    ...(until !== undefined && { until }),
  };
}

/** Without what is a setting alone. */
function policyOf({ policy }: RolloutHead): Pick<RolloutStatus, "policy"> {
  const { include_failed: _, ...shown } = policy;
  return Object.keys(shown).length === 0 ? {} : { policy: shown };
}

function outcomeOf(head: RolloutHead): RolloutStatus["outcome"] {
  if (head.state === "completed") return "completed";
  if (head.state !== "cancelled") return null;
  return head.reverted > 0 ? "rolled_back" : "cancelled";
}

/** After a rollback, whatever it has reverted, the sentinels that are still ordered to run the new image: those that failed. */
function stillOrdered(
  head: RolloutHead,
): Pick<RolloutStatus, "still_ordered" | "still_ordered_count"> {
  if (!wasRolledBack(head)) return {};
  return {
    still_ordered: head.failedSample.slice(0, reasonSampleLimit),
    still_ordered_count: head.failed,
  };
}

/** True if a rollback of it was ever started. */
export function wasRolledBack({ revertedBefore, state, reverted }: RolloutHead): boolean {
  return revertedBefore !== undefined || state === "rolling_back" || reverted > 0;
}

export function toRollbackResult(head: RolloutHead): RollbackResult {
  return {
    ...toStatus(head),
    reverted: head.revertedByLastRollback,
    not_reverted: head.notReverted,
  };
}

/** Deploys that were started and have no result recorded yet. */
export function inFlight(head: RolloutHead): number {
  return Object.values(head.openBatches).reduce((sum, batch) => sum + batch.inFlight, 0);
}

/** The same, without deploys that were never ordered because their run stopped first. */
function orderedInFlight(head: RolloutHead): number {
  const { orderedAtStop = Number.POSITIVE_INFINITY } = head;
  return isRunning(head.state) ? inFlight(head) : Math.min(inFlight(head), orderedAtStop);
}
