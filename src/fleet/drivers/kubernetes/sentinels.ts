/** A sentinel is a whole workload or a member of a set: the operations that both have. */
import type {
  ApplyResult,
  DriverCall,
  ListedSentinel,
  LogCall,
  LogTail,
} from "#fleet/drivers/driver.ts";
import type { Place } from "./calls.ts";
import { chooseContainer } from "./container.ts";
import type { Target } from "./fleet.ts";
import { isReady } from "./judge.ts";
import { hasMembers } from "./kinds.ts";
import { toListed, toListedMembers } from "./listed.ts";
import type { StepObservation } from "./look-again.ts";
import { createMembers } from "./members/members.ts";
import { readRecord } from "./record.ts";
import type { Workload } from "./schemas.ts";
import { createWorkloads, type Order, placeOf, type WorkloadParts } from "./workload.ts";

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

/** `deployId`: of what this deploy has started; absent: of what runs. */
async function readWorkloadLog(
  place: Place,
  { deployId, call }: { deployId: string | undefined; call: LogCall },
  { calls, container }: Pick<WorkloadParts, "calls" | "container">,
): Promise<LogTail> {
  const workload = await calls.read(place, call.signal);
  if (workload === undefined) return { absent: "there is no such workload" };
  const record = readRecord(workload);
  if (deployId !== undefined && (record?.id !== deployId || record.failed !== undefined)) {
    return { absent: "its pods have been removed" };
  }
  const { present, earlier } = await calls.pods(workload, call.signal);
  const name = chooseContainer(workload, container) ?? record?.container ?? "";
  if (deployId !== undefined) return calls.log(present, name, call);
  const all = [...present, ...earlier];
  const serving = all.filter(isReady);
  return calls.log(serving.length > 0 ? serving : all, name, call);
}
