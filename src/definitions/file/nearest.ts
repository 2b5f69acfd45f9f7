/** Suggests a name that was probably meant. */

/** `: did you mean checks?`, or else which names there are. */
export function hintOf(given: string, known: readonly string[]): string {
  const near = known
    .map((name) => ({ name, distance: distanceOf(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance);
  const [nearest] = near;
  if (nearest !== undefined) return `: did you mean ${nearest.name}?`;
  return known.length === 0 ? "" : `; there are ${known.join(", ")}`;
}

/** How many letters have to be added, removed or changed. Names are short: longer ones are not compared. */
function distanceOf(a: string, b: string): number {
  if (a.length > 100) return a.length;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const changed = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
