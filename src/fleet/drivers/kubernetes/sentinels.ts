/** What a sentinel can be: a whole workload, or a member of a set. What both can do, whichever it is. */
import type {
  ApplyResult,
  DriverCall,
  ListedSentinel,
  LogCall,
  LogTail,
} from "#fleet/drivers/driver.ts";
import type { Target } from "./fleet.ts";
import { hasMembers } from "./kinds.ts";
import { toListed, toListedMembers } from "./listed.ts";
import type { StepObservation } from "./look-again.ts";
import { createMembers } from "./members/members.ts";
import type { Workload } from "./schemas.ts";
import { createWorkloads, type Order, placeOf, type WorkloadParts } from "./workload.ts";
import { readWorkloadLog } from "./workload-log.ts";

export function createSentinels(parts: WorkloadParts) {
  const workloads = createWorkloads(parts);
  const members = createMembers(parts);
  return {
    /** All that a workload is. */
    async list(workload: Workload, signal?: AbortSignal): Promise<ListedSentinel[]> {
      if (!hasMembers(workload)) return [toListed(workload, parts)];
      return toListedMembers(await members.looks.ofSet(workload, signal), parts.container);
    },

    apply: ({ place, member }: Target, order: Order, call: DriverCall): Promise<ApplyResult> =>
      member === undefined
        ? workloads.apply(place, order, call)
        : members.apply({ set: place, member }, order, call),

    observe: (
      { place, member }: Target,
      order: Order,
      call: DriverCall,
    ): Promise<StepObservation> =>
      member === undefined
        ? workloads.observe(place, order, call)
        : members.observe({ set: place, member }, order, call),

    /** `deployId`: of what this deploy has started; absent: of what runs. */
    readLog: (
      { place, member }: Target,
      deployId: string | undefined,
      call: LogCall,
    ): Promise<LogTail> =>
      member === undefined
        ? readWorkloadLog(place, { deployId, call }, parts)
        : members.readLog({ set: place, member }, { deployId, call }),

    /** Ends what nobody asks about any more: its process has ended, or its deadline came first. */
    finish: (workload: Workload, signal: AbortSignal): Promise<void> =>
      hasMembers(workload)
        ? members.finish(placeOf(workload), signal)
        : workloads.finish(workload, signal),
  };
}
