/** Follows a rollout until it stands still. */
import { setTimeout as delay } from "node:timers/promises";
import type { RolloutStatus } from "#rollout/contract.ts";
import { type Connection, ConnectionError } from "./connection.ts";
import type { Progress } from "./progress.ts";

const pollEveryMs = 500;

/** How long the program may be away while a rollout is watched: a restart takes seconds. */
const awayForMs = 120_000;

/** Whether nothing more happens by itself. */
export function isStill(status: RolloutStatus): boolean {
  return status.state !== "in_progress" && status.state !== "rolling_back";
}

/** Shows each state until the rollout stands still, and answers the last one. Ends early with the signal. */
export async function watchRollout(
  connection: Connection,
  progress: Progress,
  signal: AbortSignal,
): Promise<RolloutStatus> {
  let awaySinceMs: number | undefined;
  for (;;) {
    try {
      const status = await connection.rollout("Status", {}, { signal });
      awaySinceMs = undefined;
      progress.show(status);
      if (isStill(status)) return status;
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectionError)) throw error;
      awaySinceMs ??= Date.now();
      if (Date.now() - awaySinceMs > awayForMs) throw error;
      progress.note("connection lost, trying again; the rollout goes on");
    }
    await delay(pollEveryMs, undefined, { signal });
  }
}

/** What a rollout's end means for whoever waits for it, for example a CI pipeline. */
export function exitCodeOf(status: RolloutStatus): number {
  if (status.state === "completed" || status.state === "idle") return 0;
  if (status.state === "paused") return 2;
  return status.state === "cancelled" ? 3 : 1;
}
