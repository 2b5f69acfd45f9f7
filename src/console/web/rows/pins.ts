/** A pin from the fields of its form, how long it holds, and which sentinels it takes. Pure. */
import { faultOfLabels, filled, toLabels, toList } from "#console/web/parts/fields.ts";
import { toInstant, when } from "#console/web/times.ts";
import type { ListedPin, Pin } from "#rollout/choice/contract.ts";

export const emptyPin = { id: "", ids: "", regions: "", labels: "", ends: "", reason: "" };
export type PinFields = typeof emptyPin;

/** Leaves out empty fields. Throws a refusal for labels that can't be read, which the server would not see. */
export function toPin(fields: PinFields): Pin {
  const fault = faultOfLabels(fields.labels);
  if (fault !== undefined) throw new Error(`labels: ${fault}`);
  return filled({
    id: fields.id.trim(),
    ids: toList(fields.ids),
    regions: toList(fields.regions),
    labels: toLabels(fields.labels),
    ends: toInstant(fields.ends),
    reason: fields.reason.trim(),
  });
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
