/** Checks the dependencies of rows. Pure. */
import type { DefinitionSet } from "#definitions/rows/contract.ts";
import { hintOf } from "#kernel/nearest.ts";
import type { Finding } from "./finding.ts";

type Row = { id: string; dependsOn: readonly string[] };

/** Unknown ids, ids that are named twice, and circles. */
export function lintDependencies({ checks, heartbeats }: DefinitionSet): Finding[] {
  const rows: readonly Row[] = [...checks, ...heartbeats];
  const byId = new Map(rows.map((row) => [row.id, row]));
  const inCircles = findCircles(byId);
  const lint = (section: Finding["section"], list: readonly Row[]) =>
    list.flatMap((row) => lintRow(section, row, { byId, circle: inCircles.get(row.id) }));
  return [...lint("checks", checks), ...lint("heartbeats", heartbeats)];
}

type Place = { byId: ReadonlyMap<string, Row>; circle: readonly string[] | undefined };

function lintRow(section: Finding["section"], row: Row, { byId, circle }: Place): Finding[] {
  const { id: key, dependsOn } = row;
  const faults = dependsOn.flatMap((id, index): Finding[] => {
    const at = { section, key, field: ["dependsOn", index] };
    if (id === key) return [{ ...at, message: "is the row itself: name others" }];
    if (!byId.has(id)) {
      const hint = hintOf(id, [...byId.values()]);
      return [{ ...at, message: `there is no such check or heartbeat${hint}` }];
    }
    return dependsOn.indexOf(id) === index ? [] : [{ ...at, message: "is named twice" }];
  });
  if (circle === undefined) return faults;
  const way = [...circle, key].slice(0, longestWay).join(", then ");
  const message = `depends on itself: ${way}. Leave out one of them`;
  return [...faults, { section, key, field: ["dependsOn"], message }];
}

/** Messages name no more rows. */
const longestWay = 12;

/** By id, the way from each row of a circle back to it, without the row itself at the end; no more than are named. */
function findCircles(byId: ReadonlyMap<string, Row>): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const done = new Set<string>();
  for (const id of byId.keys()) walk(id, { byId, done, found });
  return found;
}

type Search = {
  byId: ReadonlyMap<string, Row>;
  done: Set<string>;
  found: Map<string, readonly string[]>;
};

/** Depth first with a stack of its own: a chain may be as long as there are rows. */
function walk(from: string, search: Search): void {
  const way: Step[] = [{ id: from, next: 0 }];
  const places = new Map([[from, 0]]);
  for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
    const target = nextOf(last, search);
    const place = target === undefined ? undefined : places.get(target);
    if (target === undefined) {
      search.done.add(last.id);
      places.delete(last.id);
      way.pop();
    } else if (place !== undefined) note(way, place, search.found);
    else places.set(target, way.push({ id: target, next: 0 }) - 1);
  }
}

type Step = { id: string; next: number; isNoted?: true };

/** The next row to go to; undefined: there is no other one. */
function nextOf(step: Step, { byId, done }: Search): string | undefined {
  const targets = byId.get(step.id)?.dependsOn ?? [];
  while (step.next < targets.length) {
    const target = targets[step.next];
    step.next += 1;
    const isLeft = target !== undefined && byId.has(target) && !done.has(target);
    if (isLeft && target !== step.id) return target;
  }
  return undefined;
}

/** The circle is the way from `place` on. A row that is noted has one already. */
function note(way: readonly Step[], place: number, found: Map<string, readonly string[]>): void {
  const length = Math.min(way.length - place, longestWay);
  const idsFrom = (at: number) => way.slice(at, at + length).map(({ id }) => id);
  way.forEach((step, at) => {
    if (at < place || step.isNoted) return;
    step.isNoted = true;
    found.set(step.id, [...idsFrom(at), ...idsFrom(place)].slice(0, length));
  });
}
