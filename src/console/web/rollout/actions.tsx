/** The operations that are legal now, for who may do them; each confirmation says what the operation does. */
import type { LiveRollout } from "#console/contract.ts";
import { order } from "#console/web/api.ts";
import { may } from "#console/web/may.ts";
import { ask, type Given, type Question } from "#console/web/parts/confirm.tsx";
import { Link } from "#console/web/router.tsx";
import type { Operation } from "#rollout/contract.ts";
import { Approve } from "./approve.tsx";
import { cancelQuestion, pauseQuestion, resumeQuestion, rollbackQuestion } from "./questions.ts";
import { isSkippable, seenWait, skipLabel, skipQuestion } from "./skip.ts";

type Action = { operation: Operation; label: string; tone: "" | "main" | "grave" };

const actions: readonly Action[] = [
  { operation: "Pause", label: "Pause…", tone: "" },
  { operation: "Skip", label: "Skip the wait…", tone: "" },
  { operation: "Cancel", label: "Cancel…", tone: "" },
  { operation: "RollbackAll", label: "Roll back…", tone: "grave" },
  { operation: "Resume", label: "Resume…", tone: "main" },
];

export function Actions({ rollout }: { rollout: LiveRollout }) {
  const isOperator = may("operate");
  return (
    <div class="row">
      {actions
        .filter(({ operation }) => isOperator && isOffered(operation, rollout))
        .map(({ operation, label, tone }) => (
          <button
            key={operation}
            type="button"
            class={tone}
            onClick={() => ask(questionOf(operation, rollout))}
          >
            {operation === "Skip" ? skipLabel(rollout.status) : label}
          </button>
        ))}
      {rollout.status.waiting_for === "approval" && <Approve rollout={rollout} />}
      {isOperator && isOffered("Rollout", rollout) && (
        <Link to="/start" class="button main">
          New rollout…
        </Link>
      )}
    </div>
  );
}

/** Whether it is legal in this state, and has something to do. */
function isOffered(operation: Operation, { legal, status, previous_images }: LiveRollout): boolean {
  if (!legal.includes(operation)) return false;
  if (operation === "RollbackAll") return previous_images.length > 0 || status.failed > 0;
  return operation !== "Skip" || isSkippable(status);
}

function questionOf(operation: Operation, rollout: LiveRollout): Question {
  const { status } = rollout;
  const expect = { rollout_id: status.rollout_id, state: status.state };
  const send = (name: string, body: object = {}) => order(`rollout/${name}`, { expect, ...body });
  if (operation === "Resume") {
    const run = ({ isTicked }: Given) => send("resume", isTicked ? { retry_failed: true } : {});
    return { ...resumeQuestion(rollout), run };
  }
  if (operation === "RollbackAll") {
    const run = ({ isTicked }: Given) => send("rollback", isTicked ? { include_failed: true } : {});
    return { ...rollbackQuestion(rollout), run };
  }
  if (operation === "Skip") {
    const run = ({ text }: Given) => send("skip", { reason: text, ...seenWait(status) });
    return { ...skipQuestion(status), run };
  }
  if (operation === "Pause") return { ...pauseQuestion(rollout), run: () => send("pause") };
  return { ...cancelQuestion(rollout), run: () => send("cancel") };
}
