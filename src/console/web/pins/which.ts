/** Which sentinels a pin or an exclusion takes, in words, and which pin takes a sentinel. Pure. */
import { count } from "#console/web/format.ts";
import { when } from "#console/web/times.ts";
import type { ListedPin, Selector } from "#rollout/choice/contract.ts";

const mostNames = 5;

/** "gw-7, gw-8; in eu; tier=canary": of a long list the first names. */
export function whichOf({ ids = [], regions = [], labels = {} }: Selector): string {
  return [namesOf(ids), regions.length === 0 ? "" : `in ${namesOf(regions)}`, labelWords(labels)]
    .filter((words) => words !== "")
    .join("; ");
}

/** "tier=canary, kernel=5". */
export function labelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

/** The first names of a list, and how many more there are. */
export function namesOf(names: readonly string[], most = mostNames): string {
  const more = names.length - most;
  return `${names.slice(0, most).join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
}

export function untilOf({ ends }: Pick<ListedPin, "ends">): string {
  return ends === undefined ? "until it is removed" : `until ${when(ends)}`;
}

export function isOver({ ends }: Pick<ListedPin, "ends">, nowMs: number): boolean {
  return ends !== undefined && Date.parse(ends) <= nowMs;
}

export type Member = { id: string; region: string; labels?: Record<string, string> | undefined };

/** The pins that hold a sentinel back now: src/rollout/choice/leave-out.ts decides the same. */
export function pinsOn(
  { id, region, labels = {} }: Member,
  pins: readonly ListedPin[],
  nowMs: number,
): ListedPin[] {
  const has = ([name, value]: [string, string]) =>
    Object.hasOwn(labels, name) && labels[name] === value;
  return pins.filter(
    (pin) =>
      !isOver(pin, nowMs) &&
      (pin.ids?.includes(id) ?? true) &&
      (pin.regions?.includes(region) ?? true) &&
      Object.entries(pin.labels ?? {}).every(has),
  );
}
