/** The cell of a region to which a key moves; undefined: the key does not move. */
import type { Fleet } from "#console/web/live.ts";
import type { Layout } from "./painter.ts";

type Where = { fleet: Fleet; first: number; count: number; layout: Layout; from: number };

export function stepFrom(key: string, where: Where): number | undefined {
  const { first, count, layout, from } = where;
  const last = first + count - 1;
  const steps: Record<string, number> = {
    ArrowRight: from + 1,
    ArrowLeft: from - 1,
    ArrowDown: from + layout.columns,
    ArrowUp: from - layout.columns,
    Home: first,
    End: last,
    PageDown: Math.min(last, from + layout.columns * 10),
    PageUp: Math.max(first, from - layout.columns * 10),
  };
  const to = key === "f" || key === "F" ? nextFailed(where) : steps[key];
  return to !== undefined && to >= first && to <= last ? to : undefined;
}

function nextFailed({ fleet, first, count, from }: Where): number | undefined {
  for (let step = 1; step <= count; step++) {
    const index = first + ((from - first + step) % count);
    const mark = fleet.marks[index];
    if (mark === "f" || mark === "n" || mark === "x") return index;
  }
  return undefined;
}
