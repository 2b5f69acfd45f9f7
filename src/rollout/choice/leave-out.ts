/** Finds the sentinels that a rollout leaves out, because of pins and its own exclusions. Pure. */
import type { FleetMember, Labels } from "#fleet/contract.ts";
import type { Choice, Pin, Selector } from "./contract.ts";

/** `by`: the pin's id; null: the request excludes it. */
export type LeftOut = { id: string; by: string | null; reason: string };

/** Returns the reason in the words of history. */
export function reasonOf({ by, reason }: Omit<LeftOut, "id">): string {
  const who = by === null ? "excluded" : `pin ${by}`;
  return reason === "" ? who : `${who}: ${reason}`;
}

type Rule = Omit<LeftOut, "id"> & { selects: (member: FleetMember) => boolean };

/** Pins come first: they say more. A pin whose end has come holds no longer. */
export function leaveOut(
  fleet: readonly FleetMember[],
  {
    exclude = [],
    only,
    pins,
    nowMs,
  }: Pick<Choice, "exclude" | "only"> & { pins: readonly Pin[]; nowMs: number },
): { chosen: FleetMember[]; leftOut: LeftOut[] } {
  const holding = pins.filter(({ ends }) => ends === undefined || nowMs < Date.parse(ends));
  const isAskedFor = only === undefined ? () => true : selectorOf(only);
  const rules: Rule[] = [
    ...holding.map((pin) => ({ by: pin.id, reason: pin.reason, selects: selectorOf(pin) })),
    ...exclude.map((one) => ({ by: null, reason: one.reason ?? "", selects: selectorOf(one) })),
    { by: null, reason: "only others are asked for", selects: (member) => !isAskedFor(member) },
  ];
  const chosen: FleetMember[] = [];
  const leftOut: LeftOut[] = [];
  for (const member of fleet) {
    const rule = rules.find(({ selects }) => selects(member));
    if (rule === undefined) chosen.push(member);
    else leftOut.push({ id: member.id, by: rule.by, reason: rule.reason });
  }
  return { chosen, leftOut };
}

/** Returns a function that is true for a sentinel that matches each field of the selector. */
export function selectorOf(selector: Selector): (member: FleetMember) => boolean {
  const ids = selector.ids && new Set(selector.ids);
  const regions = selector.regions && new Set(selector.regions);
  const labels = Object.entries(selector.labels ?? {});
  return (member) =>
    (ids?.has(member.id) ?? true) &&
    (regions?.has(member.region) ?? true) &&
    hasLabels(member.labels ?? {}, labels);
}

function hasLabels(labels: Labels, wanted: readonly [string, string][]): boolean {
  return wanted.every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value);
}
