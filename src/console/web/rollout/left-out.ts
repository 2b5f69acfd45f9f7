/** Sentinels that are left out, for display. Pure. */
import type { FleetColumns } from "#console/contract.ts";
import type { RolloutPlan } from "#rollout/contract.ts";

type Named = Pick<RolloutPlan, "left_out" | "left_out_count">;

/** What leaves sentinels out: a pin, or the request (`pin` is null), and those that it leaves out. */
export type Cause = { pin: string | null; reason: string; ids: string[] };

const mostCauses = 20;

/** By cause, in the order of the plan; `unnamed`: how many more there are. */
export function causesOf({ left_out: named, left_out_count: total }: Named): {
  causes: Cause[];
  unnamed: number;
} {
  const groups = Map.groupBy(named, ({ pin, reason }) => JSON.stringify([pin, reason]));
  const causes = [...groups.values()].slice(0, mostCauses).flatMap((group): Cause[] => {
    const [first] = group;
    if (first === undefined) return [];
    return [{ pin: first.pin, reason: first.reason, ids: group.map(({ id }) => id) }];
  });
  const shown = causes.reduce((sum, { ids }) => sum + ids.length, 0);
  return { causes, unnamed: total - shown };
}

type Marked = { marks: Iterable<string>; waves: FleetColumns["waves"] };

/** How many sentinels of each wave a pin has held back while the rollout ran. */
export function countHeldBack({ marks, waves }: Marked): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [index, mark] of [...marks].entries()) {
    const wave = waves[index] ?? 0;
    if (mark === "l") counts.set(wave, (counts.get(wave) ?? 0) + 1);
  }
  return counts;
}
