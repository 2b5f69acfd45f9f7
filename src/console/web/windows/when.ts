/** When a window is, in words. Pure. */
import { when } from "#console/web/times.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";

export type Weekday = NonNullable<RolloutWindow["days"]>[number];

type Times = Pick<RolloutWindow, "time_zone" | "days" | "from" | "to" | "starts" | "ends">;

/** From Monday on. */
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
