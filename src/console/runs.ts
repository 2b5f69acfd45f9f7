/** Rising indexes as run lengths: alternately how many to skip and how many to take. Pure. */
import type { Runs } from "./contract.ts";

export function toRuns(indexes: readonly number[]): Runs {
  const runs: Runs = [];
  let next = 0;
  for (const index of indexes) {
    if (index === next && runs.length > 0) runs.push((runs.pop() ?? 0) + 1);
    else runs.push(index - next, 1);
    next = index + 1;
  }
  return runs;
}

export function indexesOf(runs: Runs): number[] {
  const indexes: number[] = [];
  let next = 0;
  for (const [turn, length] of runs.entries()) {
    const end = next + length;
    if (turn % 2 === 1) for (let index = next; index < end; index += 1) indexes.push(index);
    next = end;
  }
  return indexes;
}
