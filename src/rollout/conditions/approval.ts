/** Waits until an operator has approved a wave that needs it. Pure. */
import type { Approvals } from "#rollout/policy-contract.ts";
import { type Condition, start } from "./condition.ts";

/** `wave`: from 1; `of`: their number. The first waits before the freeze: by what was requested. */
export function needsApproval(
  approvals: Approvals | undefined,
  { wave, of, wavePercentages }: { wave: number; of: number; wavePercentages: readonly number[] },
): boolean {
  if (approvals === undefined) return false;
  if (approvals === "every_wave") return true;
  if (wave === 1) return wavePercentages.length === 1;
  return approvals === "after_first" || wave === of;
}

/** For one wave, until it has ended. Asked for after its soak and gate, which the approver sees; windows come later. */
export const evaluateApproval: Condition = ({ head, next }) => {
  if (next.kind !== "wave") return start;
  const { policy, waves, wavePercentages, approved = [], startedBy } = head;
  const wave = next.index + 1;
  if (!needsApproval(policy.approvals, { wave, of: waves.length, wavePercentages })) return start;
  if (approved.some((one) => one.wave === wave)) return start;
  const reason = `waits until an operator other than ${startedBy} approves wave ${wave}`;
  return { action: "wait", waitingFor: "approval", reason };
};
