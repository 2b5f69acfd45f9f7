/** Whether an operator has to approve a wave before it starts, and has. Pure. */
import type { Approvals } from "#rollout/policy/contract.ts";
import { type Condition, start } from "./condition.ts";

/** `wave` is from 1. `of`: how many there are; undefined: nobody knows yet, since the fleet is not frozen. */
export function needsApproval(
  approvals: Approvals | undefined,
  { wave, of }: { wave: number; of: number | undefined },
): boolean {
  if (approvals === undefined) return false;
  if (approvals === "every_wave" || wave === of) return true;
  return approvals === "after_first" && wave > 1;
}

/**
 * An approval is for one wave and holds until that wave has ended, also over a pause. It is asked for once the soak
 * and the gate before it are over, so that who approves has seen them; windows are waited for afterwards.
 */
export const judgeApproval: Condition = ({ head, next }) => {
  if (next.kind !== "wave") return start;
  const { policy, captured, waves, approved = [], startedBy } = head;
  const wave = next.index + 1;
  if (!needsApproval(policy?.approvals, { wave, of: captured ? waves.length : undefined }))
    return start;
  if (approved.some((one) => one.wave === wave)) return start;
  const reason = `waits until an operator other than ${startedBy} approves wave ${wave}`;
  return { action: "wait", waitingFor: "approval", reason };
};
