/** Which waves need an approval, and who has approved which. */
import { Time } from "#console/web/parts/time.tsx";
import { callerWords } from "#kernel/words.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import { approvalNames } from "./approval.ts";

type Given = NonNullable<RolloutStatus["approved"]>[number];

/** So many are listed, the newest first; the messages have all of them. */
const mostApprovals = 10;

/** Nothing for a rollout that needs none. */
export function ApprovalsPanel({ status }: { status: RolloutStatus }) {
  const { policy, approved = [] } = status;
  const approvals = policy?.approvals;
  if (approvals === undefined && approved.length === 0) return null;
  const shown = approved.toReversed().slice(0, mostApprovals);
  return (
    <section class="panel" aria-labelledby="approvals-title">
      <header class="panel-head">
        <h2 id="approvals-title">Approvals</h2>
      </header>
      {approvals !== undefined && <p class="quiet">Needed by {approvalNames[approvals]}.</p>}
      {shown.length > 0 && (
        <ul class="plain-list">
          {shown.map((one) => (
            <Line key={`${one.wave} ${one.at}`} approval={one} />
          ))}
        </ul>
      )}
      {approved.length > shown.length && (
        <p class="quiet">and {approved.length - shown.length} earlier ones</p>
      )}
    </section>
  );
}

function Line({ approval: { wave, by, at, reason } }: { approval: Given }) {
  return (
    <li>
      <b>Wave {wave}</b> by {callerWords(by)}, <Time iso={at} />
      {reason !== undefined && `: ${reason}`}
    </li>
  );
}
