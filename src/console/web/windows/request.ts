/** Makes the window from the fields of the form. Pure. */
import { toInstant } from "#console/web/local-time.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import { dayNames, type Weekday } from "./when.ts";

/** By the names of the request. */
export type WindowFields = {
  id: string;
  kind: RolloutWindow["kind"];
  time_zone: string;
  days: readonly Weekday[];
  from: string;
  to: string;
  starts: string;
  ends: string;
  reason: string;
};

/** Leaves out empty fields. */
export function toWindow(fields: WindowFields): RolloutWindow {
  const { kind, from, to } = fields;
  const days = dayNames.map(([day]) => day).filter((day) => fields.days.includes(day));
  const starts = toInstant(fields.starts);
  const ends = toInstant(fields.ends);
  return {
    id: fields.id.trim(),
    kind,
    time_zone: fields.time_zone.trim(),
    ...(days.length > 0 && { days }),
    ...(from !== "" && { from }),
    ...(to !== "" && { to }),
    ...(starts !== undefined && { starts }),
    ...(ends !== undefined && { ends }),
    reason: fields.reason.trim(),
  };
}

/** Each field with its path in the request. */
export const windowPaths: Record<keyof WindowFields, string> = {
  id: "id",
  kind: "kind",
  time_zone: "time_zone",
  days: "days",
  from: "from",
  to: "to",
  starts: "starts",
  ends: "ends",
  reason: "reason",
};
