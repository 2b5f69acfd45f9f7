/** The log of a workload that is one sentinel: that of one of its pods. */
import type { LogCall, LogTail } from "#fleet/drivers/driver.ts";
import type { Place } from "./calls.ts";
import { chooseContainer } from "./container.ts";
import { isReady } from "./judge.ts";
import { readRecord } from "./record.ts";
import type { WorkloadParts } from "./workload.ts";

/** `deployId`: of what this deploy has started; absent: of what runs. */
export async function readWorkloadLog(
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
