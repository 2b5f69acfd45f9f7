/** Makes the window from the fields of the form, and finds the fields that its refusal is about. Pure. */
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

export type Faults = {
  fields: Partial<Record<keyof WindowFields, string>>;
  /** What is about no field. */
  rest: string;
};

const aboutField = /^(id|kind|time_zone|days|from|to|starts|ends|reason)(?:\.\d+)?: (.+)$/;

/** A refusal has one line for each fault, which begins with the field's name where it is about one. */
export function faultsOf(refusal: string): Faults {
  const fields: Faults["fields"] = {};
  const rest: string[] = [];
  for (const line of refusal.split("\n")) {
    const [, name, words = ""] = aboutField.exec(line) ?? [];
    if (name === undefined) rest.push(line);
    else fields[name as keyof WindowFields] ??= words;
  }
  return { fields, rest: rest.join("\n") };
}
