/** Describes what a rollout takes and in which order. Pure. */
import type { FleetColumns } from "#console/contract.ts";
import { when } from "#console/web/times.ts";
import { someOf } from "#kernel/text.ts";
import { labelWords, whichOf } from "#kernel/words.ts";
import type { Choice } from "#rollout/choice/contract.ts";
import type { RolloutPlan } from "#rollout/contract.ts";

type Fact = readonly [name: string, words: string];

/** Describes only what the request or the settings say. */
export function choiceFacts(choice: Choice): Fact[] {
  const { canary_labels: canaries, regions, exclude = [] } = choice;
  const { max_per_region: perRegion, max_unavailable: unavailable } = choice;
  const facts: [string, string | undefined][] = [
    ["Canaries first", canaries && labelWords(canaries)],
    ["Order of regions", regions && someOf(regions, 5)],
    ["Only these", choice.only && whichOf(choice.only)],
    ["Cap per region", perRegion === undefined ? undefined : `${perRegion} in a wave`],
    ["Unavailable at most", unavailable === undefined ? undefined : String(unavailable)],
    ["Excluded", exclude.length === 0 ? undefined : exclude.map(exclusionWords).join(" · ")],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
}

function exclusionWords({ reason, ...which }: NonNullable<Choice["exclude"]>[number]): string {
  return reason === undefined ? whichOf(which) : `${whichOf(which)} (${reason})`;
}

/** All of it on one line; empty: every sentinel, every region in proportion. */
export function choiceLine(choice: Choice): string {
  return choiceFacts(choice)
    .map(([name, words]) => `${name}: ${words}`)
    .join("; ");
}

type Start = Pick<RolloutPlan["waves"][number], "earliest_start">;

/** Sooner than that a start is not worth a word. */
const atOnceMs = 60_000;

/** Empty for a wave that neither a window nor a soak delays. */
export function startWords({ earliest_start: start }: Start, nowMs: number): string {
  if (start === null) return "not within a year";
  return Date.parse(start) < nowMs + atOnceMs ? "" : `not before ${when(start, nowMs)}`;
}

type Wave = { wave: number; percentage: number };

/** "25 %", or "25 %, part 1 of 3" where a cap per region has split the wave; a line breaks only after the comma. */
export function percentWords({ wave, percentage }: Wave, waves: readonly Wave[]): string {
  const parts = waves.filter((one) => one.percentage === percentage);
  if (parts.length < 2) return `${percentage}\u00a0%`;
  const place = parts.findIndex((one) => one.wave === wave) + 1;
  return `${percentage}\u00a0%, part\u00a0${place}\u00a0of\u00a0${parts.length}`;
}

type Named = Pick<RolloutPlan, "left_out" | "left_out_count">;

/** The cause that leaves sentinels out, a pin or the request (`pin` is null), and the ids that it leaves out. */
export type Cause = { pin: string | null; reason: string; ids: string[] };

const mostCauses = 20;

/** Groups the sentinels by cause, in the order of the plan; `unnamed`: how many more there are. */
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

/** The number of sentinels of each wave that a pin has held back while the rollout ran. */
export function countHeldBack({ marks, waves }: Marked): Map<number, number> {
  const counts = new Map<number, number>();
  for (const [index, mark] of [...marks].entries()) {
    const wave = waves[index] ?? 0;
    if (mark === "l") counts.set(wave, (counts.get(wave) ?? 0) + 1);
  }
  return counts;
}
