/** Finds rows that depend on themselves by way of others. Pure. */

export type Row = { id: string; dependsOn: readonly string[] };

/** Messages name no more rows. */
export const longestWay = 12;

/** By id, the way from each row of a circle back to it, without the row itself at the end; no more than are named. */
export function findCircles(byId: ReadonlyMap<string, Row>): Map<string, readonly string[]> {
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
