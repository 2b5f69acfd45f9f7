/** A window from the fields of its form, and when it is, in words. Pure. */
import { filled, textIn } from "#console/web/parts/fields.ts";
import { toInstant, when } from "#console/web/times.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";

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
  const days = dayNames.map(([day]) => day).filter((day) => fields.days.includes(day));
  return filled({
    id: fields.id.trim(),
    kind: fields.kind,
    time_zone: fields.time_zone.trim(),
    days: days.length > 0 ? days : undefined,
    from: textIn(fields.from),
    to: textIn(fields.to),
    starts: toInstant(fields.starts),
    ends: toInstant(fields.ends),
    reason: fields.reason.trim(),
  });
}

export type Weekday = NonNullable<RolloutWindow["days"]>[number];

type Times = Pick<RolloutWindow, "time_zone" | "days" | "from" | "to" | "starts" | "ends">;

/** The days of a week, from Monday on. */
export const dayNames: readonly (readonly [Weekday, string])[] = [
  ["mon", "Mon"],
  ["tue", "Tue"],
  ["wed", "Wed"],
  ["thu", "Thu"],
  ["fri", "Fri"],
  ["sat", "Sat"],
  ["sun", "Sun"],
];

/** "Mon to Thu, 09:00 to 16:00, Europe/Berlin", and its bounds in the browser's time zone. */
export function whenOf({ days, from, to, time_zone: zone, starts, ends }: Times): string {
  const isDaily = days !== undefined || from !== undefined;
  const daily = isDaily ? [daysWords(days), ...timeWords(from, to), zone].join(", ") : "";
  const bounds = [
    ...(starts === undefined ? [] : [`from ${when(starts)}`]),
    ...(ends === undefined ? [] : [`until ${when(ends)}`]),
  ].join(" ");
  return [daily, bounds].filter((words) => words !== "").join("; ") || "until it is removed";
}

function timeWords(from: string | undefined, to: string | undefined): string[] {
  if (from === undefined || to === undefined) return [];
  return [`${from} to ${to}${to <= from ? " the next day" : ""}`];
}

/** Three or more in a row are a span. */
function daysWords(days: readonly Weekday[] | undefined): string {
  if (days === undefined || days.length === dayNames.length) return "daily";
  const spans: string[][] = [[]];
  for (const [day, name] of dayNames) {
    if (days.includes(day)) spans.at(-1)?.push(name);
    else spans.push([]);
  }
  return spans
    .flatMap((span) => (span.length < 3 ? span : `${span[0]} to ${span.at(-1)}`))
    .join(", ");
}
