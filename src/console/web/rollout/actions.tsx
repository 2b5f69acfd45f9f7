/** The operations that are legal now; each confirmation says what the operation does. */
import type { LiveRollout } from "#console/contract.ts";
import { order } from "#console/web/api.ts";
import { ask, type Given, type Question } from "#console/web/parts/confirm.tsx";
import { Link } from "#console/web/router.tsx";
import type { Operation } from "#rollout/contract.ts";
import { cancelQuestion, pauseQuestion, resumeQuestion, rollbackQuestion } from "./questions.ts";
import { seenWait, skipLabel, skipQuestion } from "./skip.ts";

type Action = { operation: Operation; label: string; tone: "" | "main" | "grave" };

const actions: readonly Action[] = [
  { operation: "Pause", label: "Pause…", tone: "" },
  { operation: "Skip", label: "Skip the wait…", tone: "" },
  { operation: "Cancel", label: "Cancel…", tone: "" },
  { operation: "RollbackAll", label: "Roll back…", tone: "grave" },
  { operation: "Resume", label: "Resume…", tone: "main" },
];

export function Actions({ rollout }: { rollout: LiveRollout }) {
  const legal = new Set(rollout.legal);
  const hasMoved = rollout.previous_images.length > 0 || rollout.status.failed > 0;
  return (
    <div class="row">
      {actions
        .filter(({ operation }) => legal.has(operation))
        .filter(({ operation }) => operation !== "RollbackAll" || hasMoved)
        .filter(({ operation }) => operation !== "Skip" || rollout.status.waiting_for != null)
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
      {legal.has("Rollout") && (
        <Link to="/start" class="button main">
          New rollout…
        </Link>
      )}
    </div>
  );
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
