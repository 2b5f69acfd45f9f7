/** The operations that are legal now, for who may do them; each confirmation says what the operation does. */
import type { LiveRollout } from "#console/contract.ts";
import { order } from "#console/web/api.ts";
import { chosenFleet } from "#console/web/chosen-fleet.ts";
import { isOperatorOf, may, mayRollOut } from "#console/web/may.ts";
import { ask, type Given, type Question } from "#console/web/parts/confirm.tsx";
import { Link } from "#console/web/router.tsx";
import { session } from "#console/web/session.ts";
import type { Operation } from "#rollout/contract.ts";
import type { GateStatus } from "#rollout/gates/contract.ts";
import { approveQuestion, confirmQuestion, hindranceOf, seenWave } from "./approval.ts";
import { type Offer, offersOf } from "./offers.ts";
import {
  cancelQuestion,
  pauseQuestion,
  resumeQuestion,
  rollbackQuestion,
  seenWait,
  skipLabel,
  skipQuestion,
} from "./questions.ts";

export function Actions({ rollout }: { rollout: LiveRollout }) {
  return (
    <div class="row actions">
      {rollout.status.waiting_for === "approval" && <Approve rollout={rollout} />}
      {mayRollOut(chosenFleet.value) &&
        offersOf(rollout).map((offer) => (
          <Action key={offer.operation} rollout={rollout} {...offer} />
        ))}
      {may("operate") && !mayRollOut(chosenFleet.value) && (
        <p class="quiet">The settings name other operators of this fleet.</p>
      )}
    </div>
  );
}

function Action({ rollout, operation, tone }: Offer & { rollout: LiveRollout }) {
  if (operation === "Rollout") {
    return (
      <Link to="/start" class={`button ${tone}`}>
        New rollout…
      </Link>
    );
  }
  return (
    <button type="button" class={tone} onClick={() => ask(questionOf(operation, rollout))}>
      {labelOf(operation, rollout)}
    </button>
  );
}

const labels: Partial<Record<Operation, string>> = {
  Pause: "Pause…",
  Cancel: "Cancel…",
  RollbackAll: "Roll back…",
  Resume: "Resume…",
};

function labelOf(operation: Operation, { status }: LiveRollout): string {
  return operation === "Skip" ? skipLabel(status) : (labels[operation] ?? operation);
}

function questionOf(operation: Operation, rollout: LiveRollout): Question {
  const { status } = rollout;
  const send = (body: object = {}) => order(operation, status, body);
  if (operation === "Resume") {
    const run = ({ isTicked }: Given) => send(isTicked ? { retry_failed: true } : {});
    return { ...resumeQuestion(rollout), run };
  }
  if (operation === "RollbackAll") {
    const run = ({ isTicked }: Given) => send(isTicked ? { include_failed: true } : {});
    const follow = (isTicked: boolean) => rollbackQuestion(rollout, isTicked);
    return { ...rollbackQuestion(rollout), follow, run };
  }
  if (operation === "Skip") {
    const run = ({ text }: Given) => send({ reason: text, ...seenWait(status) });
    return { ...skipQuestion(status), run };
  }
  if (operation === "Pause") return { ...pauseQuestion(rollout), run: () => send() };
  return { ...cancelQuestion(rollout), run: () => send() };
}

/** The button that approves the wave which waits for it, and why the operator can't. Nothing for who may only look. */
function Approve({ rollout }: { rollout: LiveRollout }) {
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
        onClick={() => ask({ ...approveQuestion(rollout), run: approveSeen(rollout.status) })}
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

type Status = LiveRollout["status"];

/** Sends the wave as it was seen when the question was asked. */
function approveSeen(status: Status, gate: { gate?: string } = {}) {
  return ({ text }: Given) => {
    const reason = text.trim();
    const given = { ...seenWave(status), ...gate, ...(reason !== "" && { reason }) };
    return order("Approve", status, given);
  };
}

type GateProps = { status: Status; gate: GateStatus["gates"][number] };

/** The button that confirms a gate, for who may approve: the starter, too. Nothing for gates that nobody confirms. */
export function ConfirmGate({ status, gate }: GateProps) {
  const { value: signedIn } = session;
  const isWaiting = status.state === "in_progress" && gate.verdict === "pending";
  if (gate.kind !== "pause" || !isWaiting || signedIn == null || !may("approve")) return null;
  if (!isOperatorOf(signedIn, chosenFleet.value)) return null;
  const question = confirmQuestion(status, gate);
  return (
    <button
      type="button"
      class="main"
      onClick={() => ask({ ...question, run: approveSeen(status, { gate: gate.name }) })}
    >
      Confirm {gate.name}…
    </button>
  );
}
