/**
 * Reports of runs that have not begun: a further location that is quick, or whose clock is slightly ahead,
 * reports before a busy worker begins the run.
 */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { CheckResult } from "#monitor/contract.ts";
import type { Report } from "#monitor/internal.ts";
import { isTick } from "#monitor/rules/grid.ts";
import { clearEarly, readEarly, type Timer, timers, writeEarly } from "./state.ts";

/** Stores the results of a future tick, and ignores all others. */
export async function storeEarly(ctx: ObjectContext, given: Report): Promise<void> {
  const timer = await timers.read(ctx);
  if (timer === null || !isFuture(timer, given.scheduledAtMs)) return;
  const known = await readEarly(ctx);
  const isNew = (one: CheckResult) => !known.some((other) => isSameRun(one, other));
  writeEarly(ctx, [...known, ...given.results.filter(isNew)].slice(0, maxEarly));
}

/** Enough for a tick or two of more locations than any installation has. */
const maxEarly = 200;

function isFuture({ dueMs, grid }: Timer, scheduledAtMs: number): boolean {
  return scheduledAtMs >= dueMs && isTick(grid, scheduledAtMs);
}

function isSameRun(one: CheckResult, other: CheckResult): boolean {
  return one.location === other.location && one.scheduledAtMs === other.scheduledAtMs;
}

/** Returns the stored results of this run and deletes them, as well as those of earlier runs. */
export async function takeEarly(ctx: ObjectContext, runAtMs: number): Promise<CheckResult[]> {
  const known = await readEarly(ctx);
  if (known.length === 0) return [];
  const later = known.filter(({ scheduledAtMs }) => scheduledAtMs > runAtMs);
  if (later.length > 0) writeEarly(ctx, later);
  else clearEarly(ctx);
  return known.filter(({ scheduledAtMs }) => scheduledAtMs === runAtMs);
}
