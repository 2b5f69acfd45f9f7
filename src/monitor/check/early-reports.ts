/**
 * Reports of runs that are to come: a further place that is quick, or whose clock is a little ahead, has
 * its result before a worker that is busy begins the run.
 */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { CheckResult } from "#monitor/contract.ts";
import type { Report } from "#monitor/internal.ts";
import { nextTick } from "#monitor/rules/grid.ts";
import { clearEarly, readEarly, type Timer, timers, writeEarly } from "./state.ts";

/** Keeps what is of a tick that is to come; all else is left alone. */
export async function keepEarly(ctx: ObjectContext, given: Report): Promise<void> {
  const timer = await timers.read(ctx);
  if (timer === null || !isToCome(timer, given.scheduledAtMs)) return;
  const known = await readEarly(ctx);
  const isNew = (one: CheckResult) => !known.some((other) => isSameRun(one, other));
  writeEarly(ctx, [...known, ...given.results.filter(isNew)].slice(0, mostKept));
}

/** A tick or two of as many places as anybody has. */
const mostKept = 200;

function isToCome({ dueMs, grid }: Timer, scheduledAtMs: number): boolean {
  return scheduledAtMs >= dueMs && nextTick(grid, scheduledAtMs - 1) === scheduledAtMs;
}

function isSameRun(one: CheckResult, other: CheckResult): boolean {
  return one.location === other.location && one.scheduledAtMs === other.scheduledAtMs;
}

/** The results of this run that are there already. Those of runs before it are let go. */
export async function takeEarly(ctx: ObjectContext, runAtMs: number): Promise<CheckResult[]> {
  const known = await readEarly(ctx);
  if (known.length === 0) return [];
  const later = known.filter(({ scheduledAtMs }) => scheduledAtMs > runAtMs);
  if (later.length > 0) writeEarly(ctx, later);
  else clearEarly(ctx);
  return known.filter(({ scheduledAtMs }) => scheduledAtMs === runAtMs);
}
