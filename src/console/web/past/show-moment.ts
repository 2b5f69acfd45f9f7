/** Shows a moment in the grid, whose store is changed in place. */
import type { PastMark } from "#console/past/contract.ts";
import { type Fleet, redraw } from "#console/web/live.ts";

/** `reasons`: those of the end, which are shown only while their sentinel is marked so. */
export function showMoment(
  fleet: Fleet,
  marks: readonly PastMark[],
  reasons: ReadonlyMap<number, string>,
): void {
  const changed = marks.flatMap((mark, index) => (fleet.marks[index] === mark ? [] : [index]));
  for (const index of changed) fleet.marks[index] = marks[index] ?? "w";
  fleet.reasons.clear();
  for (const [index, reason] of reasons) {
    const mark = marks[index];
    if (mark === "f" || mark === "n") fleet.reasons.set(index, reason);
  }
  redraw(changed);
}
