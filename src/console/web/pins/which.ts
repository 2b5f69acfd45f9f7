/** How long a pin holds, and which pin takes a sentinel. Pure. */
import { when } from "#console/web/times.ts";
import type { ListedPin } from "#rollout/choice/contract.ts";

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
