/** The operations that are legal now; each confirmation says what the operation does. */
import type { LiveRollout } from "#console/contract.ts";
import { order } from "#console/web/api.ts";
import { count, sentinels, shortImage } from "#console/web/format.ts";
import { ask, type Given, type Question } from "#console/web/parts/confirm.tsx";
import { Link } from "#console/web/router.tsx";
import type { Operation } from "#rollout/contract.ts";
import type { WaveView } from "#rollout/history/contract.ts";

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
            {label}
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
    const { waiting_for, current_wave: wave } = status;
    const run = ({ text }: Given) => send("skip", { reason: text, waiting_for, wave });
    return { ...skipQuestion(rollout), run };
  }
  if (operation === "Pause") return { ...pauseQuestion(rollout), run: () => send("pause") };
  return { ...cancelQuestion(rollout), run: () => send("cancel") };
}

function skipQuestion({ status }: LiveRollout): Words {
  return {
    title: `Skip the ${status.waiting_for ?? "wait"}?`,
    lines: ["What comes next starts at once. The reason is kept in the history."],
    verb: "Skip it",
    isGrave: false,
    field: { label: "Reason", kind: "text" },
  };
}

function pauseQuestion({ status }: LiveRollout): Words {
  return {
    title: `Pause the rollout of ${shortImage(status.image ?? "")}?`,
    lines: [`Nothing more starts. In flight, and finishing: ${sentinels(status.in_flight)}.`],
    verb: "Pause the rollout",
    isGrave: false,
  };
}

type Words = Omit<Question, "run">;

function cancelQuestion({ status, waves }: LiveRollout): Words {
  const left = status.total - status.succeeded - status.failed - status.in_flight;
  const isRunning = status.state === "in_progress";
  const inFlight =
    isRunning && status.in_flight > 0
      ? [`Deploys in flight finish: ${sentinels(status.in_flight)}.`]
      : [];
  return {
    title: `Cancel the rollout of ${shortImage(status.image ?? "")}?`,
    lines: [
      `No wave starts after wave ${status.current_wave} of ${waves.length}. Not deployed: ${sentinels(left)}.`,
      ...inFlight,
      `${sentinels(status.succeeded)} on the new image: not changed. A rollback is still possible afterwards.`,
    ],
    verb: "Cancel the rollout",
    isGrave: false,
  };
}

function nextWords({ wave, size, succeeded, failed }: WaveView, hasMore: boolean): string {
  if (!hasMore) return `Wave ${wave} starts: ${sentinels(size)} get`;
  return `Wave ${wave} continues: ${sentinels(size - succeeded - failed)} of it get`;
}

function resumeQuestion({ status, waves }: LiveRollout): Words {
  const current = waves[status.current_wave - 1];
  const hasMore = current !== undefined && current.succeeded + current.failed < current.size;
  const next = hasMore ? current : waves[status.current_wave];
  const failed = `Failed, not retried unless ticked: ${sentinels(status.failed)}.`;
  const mayWait = !hasMore && mayHaveInterruptedWait(status);
  return {
    title: "Resume the rollout?",
    lines: [
      ...(mayWait ? [`The wait after wave ${status.current_wave} goes on first.`] : []),
      next === undefined
        ? "This wave was the last one: nothing more is deployed."
        : `${nextWords(next, hasMore)} ${shortImage(status.image ?? "")}.`,
      ...(status.failed > 0 ? [failed] : []),
    ],
    verb:
      next === undefined
        ? "Complete the rollout"
        : `${hasMore ? "Continue" : "Start"} wave ${next.wave}`,
    isGrave: false,
    ...(status.failed > 0 && {
      field: { label: "Retry the failed sentinels of this wave first", kind: "tick" as const },
    }),
  };
}

/** A soak or a gate that was interrupted goes on; one that has failed does not. */
function mayHaveInterruptedWait({ cause, policy, gate }: LiveRollout["status"]): boolean {
  const wasInterrupted = cause === "operator" || cause === "run" || cause === "version";
  return wasInterrupted && (policy?.soak_seconds !== undefined || gate !== undefined);
}

/** `previous_images` has only the most frequent images; the waves count every sentinel. */
function rollbackQuestion({ status, waves, previous_images: images }: LiveRollout): Words {
  const named = images.reduce((sum, image) => sum + image.sentinels, 0);
  const moved = waves.reduce((sum, wave) => sum + wave.succeeded + wave.not_reverted, 0);
  const total = Math.max(named, moved);
  const [only] = images;
  const title =
    only?.sentinels === total
      ? `Roll back ${sentinels(total)} to ${shortImage(only.image)}?`
      : `Roll back ${sentinels(total)} to their previous images?`;
  const each = images.map((image) => `${sentinels(image.sentinels)} back to ${image.image}.`);
  const rest = `${sentinels(total - named)} back to other images.`;
  const failed = `Failed, not changed unless ticked: ${sentinels(status.failed)}.`;
  return {
    title,
    lines: [
      ...each,
      ...(total > named ? [rest] : []),
      ...(status.failed > 0 ? [failed] : []),
      "No other operation is possible until the rollback ends.",
    ],
    verb: `Roll back ${count(total)}`,
    isGrave: true,
    ...(status.failed > 0 && {
      field: { label: "Roll back failed sentinels too", kind: "tick" as const },
    }),
  };
}
