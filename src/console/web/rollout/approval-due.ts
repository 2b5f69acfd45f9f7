/** Whether a wave still has to be approved before it starts. Pure. */
import type { LiveRollout } from "#console/contract.ts";

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
