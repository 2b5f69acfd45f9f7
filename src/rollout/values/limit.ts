/** Limits of sentinels, given as a count or as a percentage. Pure. */
import type { Limit } from "./contract.ts";

/** The limit as a count. */
export function limitOf(limit: Limit, total: number): number {
  if (typeof limit === "number") return limit;
  return Math.floor((total * Number.parseInt(limit, 10)) / 100);
}
