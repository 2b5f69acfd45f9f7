/** The transitions of a rollout as messages for people (docs/rollouts.md, "Messages"). */
import type { Notice } from "#alerts/contract.ts";
import type { CiEvidence } from "#ci/contract.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords, evidenceWords, starterWords, stateWords } from "#kernel/words.ts";
import { describeEnd } from "#rollout/conditions/wait.ts";
import { isLeftBehind } from "#rollout/contract.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { standingOf } from "./standing.ts";

export const rolloutEvents = [
  "rollout started",
  "wave started",
  "wave completed",
  "waiting",
  "paused",
  "resumed",
  "resumed to retry",
  "skipped",
  "approved",
  "gate confirmed",
  "window removed",
  "rollback started",
  "rollback completed",
  "completed",
  "fault found",
  "cancelled",
] as const;
export type RolloutEvent = (typeof rolloutEvents)[number];

/** Events that channels of rollouts get: also of the time between them (src/rollout/desired/). */
export const channelEvents = [...rolloutEvents, "fault gone", "drift found", "drift gone"] as const;
export type ChannelEvent = (typeof channelEvents)[number];

type Draft = {
  tone: Notice["tone"];
  title: string;
  lines: (head: RolloutHead, call: Call) => string[];
};

/** The caller and the reason; undefined: it was automatic, or no reason was given. */
type Call = { by?: string | undefined; reason?: string | undefined };

/** The number of failed sentinels that a message names; the rest is a number. */
const namedFailures = 5;

const drafts: Record<RolloutEvent, Draft> = {
  "rollout started": {
    tone: "info",
    title: "Rollout started",
    lines: (head) => [
      `Waves at ${head.wavePercentages.join(", ")} % of the fleet, started by ${starterWords(head.startedBy, head.ciRun)}.`,
      ...(head.policy.reason === undefined ? [] : [`Reason: ${head.policy.reason}.`]),
      ...(head.ci ?? []).map(ciLine),
    ],
  },
  "wave started": {
    tone: "info",
    title: "Wave started",
    lines: (head) => [`${waveName(head)}: ${sentinels(currentWave(head)?.size ?? 0)}.`],
  },
  "wave completed": {
    tone: "success",
    title: "Wave completed",
    lines: (head) => [`${waveName(head)}: ${doneWords(head)}.`],
  },
  waiting: {
    tone: "info",
    title: "Rollout waits",
    lines: (head) => [
      ...(head.wait?.reason === undefined ? [] : [`It ${head.wait.reason}.`]),
      ...describeEnd(head),
      head.wait?.asksPeople === true
        ? "Approve with the name of the gate confirms it; Skip, with a reason, opens the others."
        : head.wait?.waitingFor === "approval"
          ? "Approve starts it; Cancel and Pause are possible, too."
          : "Skip, with a reason, starts what comes next all the same.",
    ],
  },
  paused: {
    tone: "danger",
    title: "Rollout paused",
    lines: (head, { by }) => [
      ...(by === undefined ? [] : [`Paused by ${callerWords(by)}.`]),
      ...(head.reason === undefined ? [] : [`${head.reason}.`]),
      ...(head.cause === "gate" || head.cause === "comparison" ? readingLines(head) : []),
      ...(head.failed === 0
        ? []
        : [
            standingOf(head)
              .map(({ text }) => text)
              .join(" "),
          ]),
      ...failureLines(head),
      head.rollbackDue === true
        ? "The previous images are restored now."
        : "Resume continues, RollbackAll restores the previous images, Cancel ends here.",
    ],
  },
  resumed: {
    tone: "info",
    title: "Rollout resumed",
    lines: () => ["Failed sentinels are not tried again."],
  },
  "resumed to retry": {
    tone: "info",
    title: "Rollout resumed",
    lines: () => ["Failed sentinels of the wave are tried again."],
  },
  skipped: {
    tone: "warning",
    title: "Wait skipped",
    lines: (_, { by = "", reason }) => [`${callerWords(by)} ended the wait: ${reason}.`],
  },
  approved: {
    tone: "info",
    title: "Wave approved",
    lines: ({ approved }, { by = "", reason }) => [
      `${callerWords(by)} approved wave ${approved?.at(-1)?.wave}${reason === undefined ? "" : `: ${reason}`}.`,
    ],
  },
  "gate confirmed": {
    tone: "info",
    title: "Gate confirmed",
    lines: (_, { by = "", reason }) => [`${callerWords(by)} confirmed the gate ${reason}.`],
  },
  "window removed": {
    tone: "warning",
    title: "Window removed",
    lines: (_, { by = "", reason }) => [`${callerWords(by)} removed ${reason}.`],
  },
  "rollback started": {
    tone: "warning",
    title: "Rollback started",
    lines: (head) => [
      head.succeeded === 0
        ? "No sentinel is known to have the new image."
        : `${sentinels(head.succeeded)} get their previous image back.`,
      ...(head.includeFailed === true && head.failed > 0
        ? [`So do those that failed: ${head.failed}.`]
        : []),
    ],
  },
  "rollback completed": {
    tone: "warning",
    title: "Rollback completed",
    lines: (head) => [
      revertedWords(head),
      ...leftLines(head),
      ...(head.reason === undefined ? [] : [`${head.reason}.`]),
      ...namedLines("Not reverted", head.notReverted, notReverted(head)),
      ...namedLines("Failed, and still ordered to the new image", head.failedSample, head.failed),
      ...(head.failed > 0 ? ["RollbackAll with include_failed puts those back, too."] : []),
    ],
  },
  completed: {
    tone: "success",
    title: "Rollout completed",
    lines: (head) =>
      head.failed === 0
        ? [
            head.total === 0
              ? `${head.reason}.`
              : `${sentinels(head.succeeded)} run the new image.`,
            ...leftOutLines(head),
          ]
        : [
            `${head.succeeded} of ${sentinels(head.total)} run the new image.`,
            ...leftLines(head),
            ...failureLines(head),
            ...leftOutLines(head),
          ],
  },
  "fault found": {
    tone: "danger",
    title: "Fault after the rollout",
    lines: (head) => [
      ...(head.reason === undefined ? [] : [`${head.reason}.`]),
      ...(head.cause === "gate" ? readingLines(head) : []),
      ...failureLines(head),
      head.rollbackDue === true
        ? "The previous images are restored now."
        : `It stays completed, and is watched no longer. A rollout restores the previous image${head.previousImage === undefined ? "" : `, ${shortenImage(head.previousImage)}`}.`,
    ],
  },
  cancelled: {
    tone: "warning",
    title: "Rollout cancelled",
    lines: (head) => [
      `${sentinels(head.succeeded)} keep the new image; RollbackAll restores the previous ones.`,
      ...leftLines(head),
      ...failureLines(head),
    ],
  },
};

/** The message of an event; `head.sequence` makes its id, the same on every delivery. */
export function composeMessage(event: RolloutEvent, head: RolloutHead, call: Call = {}): Notice {
  const draft = drafts[event];
  const hasFailures = event === "completed" && head.failed > 0;
  const revertsNone = event === "rollback completed" && head.revertedByLastRollback === 0;
  const title = hasFailures
    ? "Rollout completed with failures"
    : revertsNone
      ? "Rollback ended: nothing was reverted"
      : draft.title;
  return {
    id: `${head.rolloutId}#${head.sequence}`,
    title: head.fleet === undefined ? title : `${title} (${head.fleet})`,
    tone: hasFailures ? "warning" : draft.tone,
    lines: draft.lines(head, call),
    fields: [
      { name: "Image", value: shortenImage(head.image) },
      { name: "State", value: stateWords({ state: head.state }) },
      { name: "Rollout", value: head.rolloutId },
    ],
  };
}

function currentWave(head: RolloutHead) {
  return head.waves[head.currentWave - 1];
}

function waveName(head: RolloutHead): string {
  return `Wave ${head.currentWave} of ${head.totalWaves}`;
}

function sentinels(count: number): string {
  return `${count} sentinel${count === 1 ? "" : "s"}`;
}

function revertedWords({ revertedByLastRollback: count, succeeded, failed }: RolloutHead): string {
  if (count === 1) return "1 sentinel runs its previous image again.";
  if (count > 0) return `${sentinels(count)} run their previous image again.`;
  const isUntouched = succeeded + failed === 0;
  return isUntouched
    ? "Nothing had to be reverted: no sentinel has the new image."
    : "Nothing was reverted.";
}

/** The list is truncated in a large fleet; with a killed batch it has more members than are counted. */
function notReverted({ notReverted: list, succeeded }: RolloutHead): number {
  return list.length === 0 ? 0 : Math.max(list.length, succeeded);
}

function ciLine(evidence: CiEvidence): string {
  return `CI, ${evidence.kind}: ${evidenceWords(evidence)} (${evidence.detail}).`;
}

/** Done are those with a result; those that failed are told apart. */
function doneWords({ succeeded, failed, total }: RolloutHead): string {
  const apart = failed === 0 ? "" : `, ${failed} failed`;
  return `${succeeded + failed} of ${sentinels(total)} done${apart}`;
}

/** Describes the failed sentinels that serve nothing, or the new image. */
function leftLines(head: RolloutHead): string[] {
  return standingOf(head).flatMap((part) => (isLeftBehind(part) ? [part.text] : []));
}

function failureLines(head: RolloutHead): string[] {
  return namedLines("Failed", head.failedSample, head.failed);
}

/** The last readings of the gates that have not passed. */
function readingLines({ gateStatus }: RolloutHead): string[] {
  return (gateStatus?.gates ?? []).flatMap(({ name, verdict, readings }) => {
    if (verdict === "pass" || readings.length === 0) return [];
    const last = readings.slice(-3).map(({ at, value }) => `${formatUtc(at)} ${value}`);
    return [`Last readings of ${name}: ${last.join("; ")}.`];
  });
}

function leftOutLines({ leftOut = 0 }: RolloutHead): string[] {
  return leftOut === 0 ? [] : [`Left out by pins and the request: ${leftOut}.`];
}

function namedLines(
  title: string,
  list: readonly { id: string; reason: string }[],
  count: number,
): string[] {
  if (count === 0) return [];
  const named = list.slice(0, namedFailures);
  // A bad image fails everywhere for one reason, which is told once.
  const groups = [...Map.groupBy(named, ({ reason }) => reason)].map(
    ([reason, members]) => `${members.map(({ id }) => id).join(", ")} (${reason})`,
  );
  const more = count > named.length ? `, and ${count - named.length} more` : "";
  return [`${title}: ${groups.join(", ")}${more}.`];
}
