/** Reads the rollout, its history and its fleet once; a part that cannot be read is reported and left unchanged. */
import { ProblemError } from "#kernel/problem.ts";
import type { Operation, RolloutStateName, RolloutStatus } from "#rollout/contract.ts";
import type { RolloutDetail } from "#rollout/history/contract.ts";
import type { FleetColumns, LiveRollout, Trouble } from "./contract.ts";
import type { FleetView } from "./fleet.ts";
import { toColumns } from "./fleet-columns.ts";
import type { ReadRollouts } from "./rollouts.ts";
import { createThroughput } from "./throughput.ts";

export type ObserveParts = {
  readStatus: (signal: AbortSignal) => Promise<RolloutStatus>;
  rollouts: ReadRollouts;
  fleet: FleetView;
  legalOperations: (state: RolloutStateName) => Operation[];
};

export type LiveState = {
  rollout: LiveRollout | undefined;
  columns: FleetColumns | undefined;
  trouble: Trouble;
};

const statusTimeoutMs = 4_000;

/** States in which sentinels may change. */
const activeStates: readonly RolloutStateName[] = ["in_progress", "paused", "rolling_back"];

/** Returns a function that reads everything once; `known` is its previous result. */
export function createObserve(parts: ObserveParts) {
  const throughput = createThroughput();
  return async (known: LiveRollout | undefined): Promise<LiveState> => {
    const trouble: Trouble = [];
    const note = (part: string) => (error: unknown) => {
      trouble.push({ part, detail: describe(error) });
      return undefined;
    };
    const signal = AbortSignal.timeout(statusTimeoutMs);
    const status = (await parts.readStatus(signal).catch(note("Restate"))) ?? known?.status;
    if (status === undefined) return { rollout: undefined, columns: undefined, trouble };
    const [found, rows] = await Promise.all([
      parts.rollouts.detail(status).catch(note("history")),
      parts.fleet.live(status.rollout_id).catch(note("fleet")),
    ]);
    const detail = found ?? keepDetail(known, status);
    const isActive = activeStates.includes(status.state);
    const { rollout_id: rolloutId, image, total } = status;
    const shown = { rolloutId, image, isActive, total };
    return {
      rollout: {
        ...detail,
        legal: parts.legalOperations(status.state),
        per_second: throughput.perSecond(detail, Date.now()),
      },
      columns: rows === undefined ? undefined : toColumns(rows, shown),
      trouble,
    };
  };
}

/** While history cannot be read, its parts keep their last known values. */
function keepDetail(known: LiveRollout | undefined, status: RolloutStatus): RolloutDetail {
  if (known?.status.rollout_id === status.rollout_id) return { ...known, status };
  return {
    status,
    requested_image: null,
    started_by: null,
    ended_at: null,
    wave_percentages: [],
    reverted: 0,
    waves: [],
    messages: [],
    previous_images: [],
    failures: [],
  };
}

function describe(error: unknown): string {
  if (error instanceof ProblemError) return error.message;
  if (error instanceof Error && error.name === "TimeoutError") return "it did not answer in time";
  return "it cannot be reached";
}
