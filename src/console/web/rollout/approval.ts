/** Approvals of waves in words, and who may give one. Pure. */
import type { LiveRollout, Session } from "#console/contract.ts";
import { sentinels, shortImage } from "#console/web/format.ts";
import { isAllowed } from "#console/web/may.ts";
import { callerWords } from "#kernel/words.ts";
import type { ApproveRequest } from "#rollout/calls-contract.ts";
import type { RolloutStatus } from "#rollout/contract.ts";
import type { GateStatus } from "#rollout/gates/contract.ts";
import type { Approvals } from "#rollout/policy-contract.ts";
import type { Words } from "./questions.ts";

/** The waves that need one. */
export const approvalNames: Readonly<Record<Approvals, string>> = {
  last_wave: "the last wave",
  after_first: "all waves after the first",
  every_wave: "every wave",
};

/** The wave that waits: "wave 2 of 5". The fleet, and how many waves it gets, may not be known before the first one. */
export function awaitedWave({ current_wave: current, total_waves: total }: RolloutStatus): string {
  return current === 0 ? "the first wave" : `wave ${current + 1} of ${total}`;
}

/** The wave that the operator saw, as the request names it. */
export function seenWave({ rollout_id: id, current_wave: current }: RolloutStatus): ApproveRequest {
  return { ...(id !== null && { rollout_id: id }), wave: current + 1 };
}

export function approveQuestion(rollout: LiveRollout): Words {
  const { status } = rollout;
  const name = awaitedWave(status);
  return {
    title: `Approve ${name}?`,
    lines: [startLine(rollout), starterLine(rollout), evidenceLine(status)],
    verb: status.current_wave === 0 ? `Approve ${name}` : `Approve wave ${status.current_wave + 1}`,
    isGrave: false,
    field: { label: "Reason (optional)", kind: "text", isOptional: true },
  };
}

/** `gate`: of the kind pause, with the words of its reason. */
export function confirmQuestion(status: RolloutStatus, { name, reason }: Gate): Words {
  return {
    title: `Confirm the gate ${name}?`,
    lines: [
      `${name} ${reason}.`,
      `Wave ${status.current_wave + 1} starts once nothing else keeps it waiting.`,
      evidenceLine(status),
    ],
    verb: "Confirm",
    isGrave: false,
    field: { label: "Reason (optional)", kind: "text", isOptional: true },
  };
}

type Gate = Pick<GateStatus["gates"][number], "name" | "reason">;

function startLine({ status, waves }: LiveRollout): string {
  const wave = status.current_wave + 1;
  const size = waves.find((one) => one.wave === wave)?.size;
  const who = size === undefined ? "its sentinels" : sentinels(size);
  const when = "starts at once, or as soon as the windows allow it";
  return `Wave ${wave} ${when}: ${who} get ${shortImage(status.image ?? "")}.`;
}

function starterLine({ started_by: by, status: { policy } }: LiveRollout): string {
  const why = policy?.reason === undefined ? "" : ` Reason: ${policy.reason}.`;
  if (by === null) return `It is not known who started it.${why}`;
  return `Started by ${callerWords(by)}.${why}`;
}

function evidenceLine({ succeeded, failed, current_wave: current }: RolloutStatus): string {
  if (current === 0) return "Nothing is deployed yet.";
  return `So far: ${sentinels(succeeded)} succeeded, ${failed === 0 ? "none" : sentinels(failed)} failed.`;
}

/** The operator of a session that was opened with the ingress token. */
const sharedActor = "ingress-token";

/** Why the operator can't approve a wave, which the server would refuse; undefined: they can. */
export function hindranceOf(
  { started_by: startedBy }: Pick<LiveRollout, "started_by">,
  session: Pick<Session, "actor" | "roles">,
): string | undefined {
  if (session.actor === sharedActor) {
    return "An approval has to have a name: sign in with a token of your own.";
  }
  if (session.actor === startedBy) {
    return "You started this rollout: another operator has to approve it.";
  }
  return isAllowed(session, "approve") ? undefined : "Your roles do not include approve.";
}
