/** The state of a rollout in a few words. Pure. */
import { stateName } from "#console/web/format.ts";
import type { RolloutDetail } from "#rollout/history/contract.ts";
import { awaitedWave } from "./approval.ts";

type Shown = Pick<RolloutDetail, "status" | "ended_at">;

export function titleOf({ status, ended_at: endedAt }: Shown): string {
  const name = stateName(status.state);
  if (status.state === "in_progress") return runningTitle(status);
  if (status.state === "paused") {
    const wave = status.current_wave;
    return wave === 0 ? "Paused before the first wave" : `Paused after wave ${wave}`;
  }
  if (status.state === "completed" && status.failed > 0) return `${name}, with failures`;
  return endedAt === null || status.state !== "completed" ? name : "Completed";
}

function runningTitle(status: RolloutDetail["status"]): string {
  const { waiting_for: what, current_wave: current, total_waves: total } = status;
  const wave = `wave ${current} of ${total}`;
  if (what === "window") {
    return current === 0 ? "Waiting to start the first wave" : `Waiting for a window after ${wave}`;
  }
  if (what === "approval") return `Waiting for an approval of ${awaitedWave(status)}`;
  const name = stateName(status.state);
  if (total === 0) return `${name}: no wave started yet`;
  if (what === "soak") return `Soaking after ${wave}`;
  return status.gate === undefined ? `${name}: ${wave}` : `Waiting at the gate after ${wave}`;
}
