/** The button that approves the wave which waits for it, and why the operator can't, if so. */
import type { LiveRollout } from "#console/contract.ts";
import { order } from "#console/web/api.ts";
import { chosenFleet } from "#console/web/chosen-fleet.ts";
import { isOperatorOf, may } from "#console/web/may.ts";
import { ask, type Given } from "#console/web/parts/confirm.tsx";
import { session } from "#console/web/session.ts";
import { approveQuestion, hindranceOf, seenWave } from "./approval.ts";

/** Nothing for who may only look. */
export function Approve({ rollout }: { rollout: LiveRollout }) {
  const { value: signedIn } = session;
  if (signedIn == null || !(may("approve") || may("operate"))) return null;
  if (!isOperatorOf(signedIn, chosenFleet.value)) return null;
  const hindrance = hindranceOf(rollout, signedIn);
  return (
    <>
      <button
        type="button"
        class="main"
        disabled={hindrance !== undefined}
        aria-describedby={hindrance === undefined ? undefined : "approve-hint"}
        onClick={() => ask({ ...approveQuestion(rollout), run: approveSeen(rollout) })}
      >
        Approve…
      </button>
      {hindrance !== undefined && (
        <p id="approve-hint" class="approve-hint">
          {hindrance}
        </p>
      )}
    </>
  );
}

/** Sends the wave as it was seen when the question was asked. */
function approveSeen({ status }: LiveRollout) {
  const expect = { rollout_id: status.rollout_id, state: status.state };
  return ({ text }: Given) => {
    const reason = text.trim();
    const given = { ...seenWave(status), ...(reason !== "" && { reason }) };
    return order("rollout/approve", { expect, ...given });
  };
}
