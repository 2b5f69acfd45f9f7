/** What is compared of two rollouts, in words. Pure. */
import type { PastRollout } from "#console/contract.ts";
import { count, duration } from "#console/web/format.ts";
import { approvalNames } from "#console/web/rollout/approval.ts";
import { choiceLine } from "#console/web/rollout/choice-words.ts";
import { evidenceLine } from "#console/web/rollout/evidence-words.ts";
import { countHeldBack } from "#console/web/rollout/left-out.ts";
import { callerWords, capitalize, stateWords } from "#kernel/words.ts";

export type Property = { name: string; of: (rollout: PastRollout) => string };

export const properties: readonly Property[] = [
  { name: "Outcome", of: ({ detail }) => capitalize(stateWords(detail.status)) },
  { name: "Started by", of: ({ detail }) => callerWords(detail.started_by ?? "not known") },
  { name: "Waves", of: ({ detail }) => `${detail.wave_percentages.map(count).join(", ")} %` },
  { name: "Reason", of: ({ detail }) => detail.status.policy?.reason ?? "none" },
  {
    name: "Choice and order",
    of: ({ detail }) => choiceLine(detail.status.policy ?? {}) || "none",
  },
  { name: "CI", of: ({ detail }) => evidenceLine(detail.status.ci ?? []) || "not asked" },
  { name: "Approvals", of: approvals },
  { name: "Sentinels", of: ({ detail }) => count(detail.status.total) },
  { name: "Succeeded", of: ({ detail }) => count(detail.status.succeeded) },
  { name: "Failed", of: ({ detail }) => count(detail.status.failed) },
  { name: "Left out", of: leftOut },
  { name: "Reverted", of: ({ detail }) => count(detail.reverted) },
  { name: "Took", of: took },
  { name: "Per second", of: perSecond },
];

function approvals({ detail }: PastRollout): string {
  const { approvals: needed } = detail.status.policy ?? {};
  return needed === undefined ? "none" : approvalNames[needed];
}

/** Of a rollout from history only those are known that a pin has held back while it ran. */
function leftOut({ detail, fleet }: PastRollout): string {
  const heldBack = countHeldBack(fleet)
    .values()
    .reduce((sum, size) => sum + size, 0);
  return count(detail.status.left_out ?? heldBack);
}

function took({ detail }: PastRollout): string {
  const { started_at: from } = detail.status;
  if (from === null || detail.ended_at === null) return "not ended";
  return duration((Date.parse(detail.ended_at) - Date.parse(from)) / 1_000);
}

function perSecond({ progress: { seconds, done } }: PastRollout): string {
  const last = seconds.at(-1) ?? 0;
  return last === 0 ? "not known" : count(Number(((done.at(-1) ?? 0) / last).toPrecision(3)));
}
