/** Finds ids, regions and labels that no sentinel of the fleet has: they are typing errors, mostly. Pure. */
import type { FleetMember } from "#fleet/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { createHint, someOf } from "#kernel/text.ts";
import { whichOf } from "#kernel/words.ts";
import type { Choice, ChoiceProblemCode, Pin, Selector } from "./contract.ts";
import { leaveOut, selectorOf } from "./leave-out.ts";

/** Sentinels that a request names; `at`: where it has this field, or without one the whole selector. */
type Named = { selector: Selector; at: (field?: keyof Selector) => string };

type Pins = { pins: readonly Pin[]; nowMs: number };

/** Throws 400 `unknown_choice`, with a line for each field that names what no sentinel has, or if nobody is left. */
export function requireMatches(fleet: readonly FleetMember[], choice: Choice & Pins): void {
  const detail = findUnmatched(fleet, choice).join("\n") || describeNobody(fleet, choice);
  if (detail === "") return;
  throw new ProblemError<ChoiceProblemCode>({ status: 400, code: "unknown_choice", detail });
}

/** Empty: somebody is left, or the request leaves nobody out. */
function describeNobody(fleet: readonly FleetMember[], { only, exclude, ...held }: Choice & Pins) {
  const asked = namedIn({ only, exclude }).map(
    ({ selector, at }) => `${at()} (${whichOf(selector)})`,
  );
  const { chosen, leftOut } = leaveOut(fleet, { only, exclude, ...held });
  if (asked.length === 0 || chosen.length > 0) return "";
  const by = [...asked, ...(leftOut.some((one) => one.by !== null) ? ["pins"] : [])];
  return `nobody is left to deploy to: of ${leftOut.length} sentinels all are left out by ${by.join(" and ")}`;
}

export function namesSentinels(choice: Choice): boolean {
  return namedIn(choice).length > 0;
}

/** One line for each field, which begins with its path. */
export function findUnmatched(fleet: readonly FleetMember[], choice: Choice): string[] {
  return namedIn(choice).flatMap(createFaultsOf(fleet));
}

/** A line for each field of these pins that names what no sentinel has. A pin that is over does not count. */
export function warnOfPins(fleet: readonly FleetMember[], { pins, nowMs }: Pins): string[] {
  const holding = pins.filter(({ ends }) => ends === undefined || nowMs < Date.parse(ends));
  const faultsOf = createFaultsOf(fleet);
  return holding.flatMap((pin) =>
    faultsOf({ selector: pin, at: (field = "ids") => `pin ${pin.id}, ${field}` }),
  );
}

function namedIn({ exclude = [], only, canary_labels: labels, regions }: Choice): Named[] {
  const within = (path: string) => (field?: keyof Selector) =>
    field === undefined ? path : `${path}.${field}`;
  return [
    ...exclude.map((selector, i) => ({ selector, at: within(`exclude.${i}`) })),
    ...(only === undefined ? [] : [{ selector: only, at: within("only") }]),
    ...(labels === undefined ? [] : [{ selector: { labels }, at: () => "canary_labels" }]),
    ...(regions === undefined ? [] : [{ selector: { regions }, at: () => "regions" }]),
  ];
}

const kinds = {
  ids: { words: "no sentinel is called", of: ({ id }: FleetMember) => [id] },
  regions: { words: "no sentinel is in", of: ({ region }: FleetMember) => [region] },
  labels: { words: "no sentinel has", of: ({ labels = {} }: FleetMember) => pairsOf(labels) },
} as const;
const fields = ["ids", "regions", "labels"] as const;

/** The names of a fleet are listed once, and the first faults alone have hints: 200 pins may have 600 of them. */
function createFaultsOf(fleet: readonly FleetMember[]) {
  const hintOf = createHint();
  const lists = new Map<keyof Selector, Set<string>>();
  const knownOf = (field: keyof Selector) => {
    const known = lists.get(field) ?? new Set(fleet.flatMap<string>(kinds[field].of));
    lists.set(field, known);
    return known;
  };
  return ({ selector, at }: Named): string[] => {
    const faults = fields.flatMap((field) => {
      const given = namesOf(selector, field);
      const missing = given.filter((name) => !knownOf(field).has(name));
      const [first] = missing;
      if (first === undefined) return [];
      const hint = hintOf(first, [...knownOf(field)]) || "; there are none";
      return [`${at(field)}: ${kinds[field].words} ${someOf(missing, 3)}${hint}`];
    });
    if (faults.length > 0 || fleet.some(selectorOf(selector))) return faults;
    return [`${at()}: no sentinel matches all of it together`];
  };
}

function namesOf({ labels = {}, ...selector }: Selector, field: keyof Selector): readonly string[] {
  return field === "labels" ? pairsOf(labels) : (selector[field] ?? []);
}

function pairsOf(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}
