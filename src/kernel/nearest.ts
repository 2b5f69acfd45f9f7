/** Suggests a name that was probably meant. */

/** `: did you mean checks?`, or else which names there are. */
export function hintOf(given: string, known: readonly string[]): string {
  const [nearest] = rank(given, known).filter(
    ({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)),
  );
  if (nearest !== undefined) return `: did you mean ${nearest.name}?`;
  return known.length === 0 ? "" : `; there are ${known.join(", ")}`;
}

/** The first names, those nearest to `given` first: `eu, us and 3 more`. */
export function nearestOf(given: string, known: readonly string[]): string {
  return someOf(
    rank(given, known).map(({ name }) => name),
    5,
  );
}

/** The first `most` names, and how many more there are. */
export function someOf(names: readonly string[], most: number, count = names.length): string {
  const named = names.slice(0, most);
  const more = count - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function rank(given: string, known: readonly string[]) {
  return known
    .map((name) => ({ name, distance: distanceOf(given.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
}

/** How many letters have to be added, removed or changed. Names are short: longer ones are not compared. */
function distanceOf(a: string, b: string): number {
  if (a.length > 100 || b.length > 100) return Math.max(a.length, b.length);
  // Quick: a fleet may have 100,000 names.
  const row = new Uint8Array(b.length + 1).map((_, index) => index);
  for (let i = 0; i < a.length; i++) {
    let before = row[0] ?? 0;
    row[0] = i + 1;
    for (let j = 0; j < b.length; j++) {
      const changed = before + (a.charCodeAt(i) === b.charCodeAt(j) ? 0 : 1);
      before = row[j + 1] ?? 0;
      row[j + 1] = Math.min(changed, before + 1, (row[j] ?? 0) + 1);
    }
  }
  return row.at(-1) ?? 0;
}
