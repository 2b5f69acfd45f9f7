import { InvalidArgumentError } from "commander";
import { WavePercentages } from "#rollout/contract.ts";
import type { TargetOptions } from "./target.ts";

export type GlobalOptions = TargetOptions & { json: boolean };

/** `25,100` as percentages; refuses what the service would refuse. */
export function parseWaves(text: string): number[] {
  const result = WavePercentages.safeParse(text.split(",").map(Number));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new InvalidArgumentError(`${issue?.message}. For example: 5,25,100`);
}

export function parseLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 100) return limit;
  throw new InvalidArgumentError("a whole number from 1 to 100.");
}
