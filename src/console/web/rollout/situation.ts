/** What runs where while a rollout stands still, in a sentence for somebody who has just been woken. Pure. */
import { count, sentinels } from "#console/web/format.ts";
import type { RolloutDetail } from "#rollout/history/contract.ts";

type Shown = Pick<RolloutDetail, "status" | "waves">;

/** undefined: it does not stand still, or has ended as everybody expects. */
export function situationOf(detail: Shown): string | undefined {
  const { state, outcome } = detail.status;
  if (state === "paused") return `${standWords(detail)} Nothing more starts until you decide.`;
  return state === "cancelled" && outcome !== "rolled_back" ? standWords(detail) : undefined;
}

function standWords(detail: Shown): string {
  const { in_flight: inFlight } = detail.status;
  const finishing =
    inFlight === 0 ? "" : ` Still in flight, and finishing: ${sentinels(inFlight)}.`;
  return `${whereWords(detail)}${finishing}`;
}

function whereWords({ status, waves }: Shown): string {
  if (status.total === 0) return "No wave has started: nothing is deployed.";
  const sum = (of: "succeeded" | "failed") => waves.reduce((all, wave) => all + wave[of], 0);
  const [succeeded, failed] = [sum("succeeded"), sum("failed")];
  const before = status.total - succeeded - failed - status.in_flight;
  const parts = [
    `${sentinels(succeeded)} on the new image`,
    ...(failed > 0 ? [`${count(failed)} failed`] : []),
    `${count(Math.max(0, before))} on the image from before`,
  ];
  return `${parts.join(", ")}.`;
}
