import type { Part, Program } from "./program.ts";

/** What is killed, and when. */
type Killing = [parts: Part[], at: number];

/** Each part alone, and all of them. */
const usual: Part[][] = [["main"], ["restate"], ["postgres"], ["main", "restate", "postgres"]];

/**
 * The last of these victims is killed at every second of the times, the others at every third, in turns: all at all
 * times take longer than a CI run may. With SWEEP_KILLS=all it is all at all times.
 */
export function killings(times: readonly number[], victims = usual): Killing[] {
  return victims.flatMap((parts, i) =>
    inTurns(times, i, i === victims.length - 1 ? 2 : 3).map((at): Killing => [parts, at]),
  );
}

/** Every `nth` of these, from another one on for each `turn`; all of them with SWEEP_KILLS=all. */
export function inTurns<Item>(items: readonly Item[], turn: number, nth: number): Item[] {
  const isWhole = process.env["SWEEP_KILLS"] === "all";
  return items.filter((_, index) => isWhole || (index + turn) % nth === 0);
}

/** Kills these parts, and starts the program again if it was among them. */
export async function killAndRestart(program: Program, parts: readonly Part[]): Promise<void> {
  // The program's own process first: it would start the others again.
  for (const part of parts) program.kill9(part);
  if (parts.includes("main")) await program.start();
}
