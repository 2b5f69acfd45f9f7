/** The words of Skip, which depend on what the rollout waits for. Pure. */
import type { RolloutStatus } from "#rollout/contract.ts";
import type { Words } from "./questions.ts";

/** Whether it waits for something that an operator may skip: an approval has to be given. */
export function isSkippable({ waiting_for: what }: RolloutStatus): boolean {
  return what != null && what !== "approval";
}

export function skipLabel({ waiting_for: what }: RolloutStatus): string {
  return what === "window" ? "Start all the same…" : "Skip the wait…";
}

/** What the request says of the wait that the operator saw. */
export function seenWait({ waiting_for: what, current_wave: wave }: RolloutStatus) {
  return { waiting_for: what ?? undefined, wave };
}

export function skipQuestion({ waiting_for: what, reason }: RolloutStatus): Words {
  const field = { label: "Reason", kind: "text" } as const;
  if (what !== "window") {
    return {
      title: `Skip the ${what ?? "wait"}?`,
      lines: ["What comes next starts at once. The reason is kept in the history."],
      verb: "Skip it",
      isGrave: false,
      field,
    };
  }
  return {
    title: "Start the wave all the same?",
    lines: [
      ...(reason === undefined ? [] : [`The rollout ${reason}.`]),
      "The wave starts at once. This holds for this wave only: the next one waits again.",
      "The reason is kept in the history.",
    ],
    verb: "Start the wave",
    isGrave: false,
    field,
  };
}
