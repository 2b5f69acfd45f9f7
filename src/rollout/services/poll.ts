/** Waits before the next thing starts, and looks at what the conditions are about. */
import { type Context, RestatePromise } from "@restatedev/restate-sdk";
import type { FleetMember } from "#fleet/contract.ts";
import { readPatiently } from "#kernel/read-now.ts";
import { unlessLate } from "#kernel/unless-aborted.ts";
import type { ReadChecks } from "#rollout/conditions/gate.ts";
import { wakeSignal } from "#rollout/conditions/wait.ts";
import type { ListFleet } from "#rollout/fleets.ts";
import type { Advance, Readings, Run, Unhealthy, WaitInstruction } from "#rollout/internal.ts";
import { type Openings, openingsAt } from "#rollout/windows/calendar.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import type { ReadStrays } from "./strays.ts";

/** The windows that hold for this fleet. */
export type ReadWindows = (fleet: string) => Promise<RolloutWindow[]>;

export type PollSettings = {
  /** The fleet's name. */
  name: string;
  /** Reads reports of checks since a time. */
  readChecks: ReadChecks;
  readStrays: ReadStrays;
  readWindows: ReadWindows;
  listFleet: ListFleet;
};

type PollContext = Pick<Run, "rolloutId" | "windowsEpoch" | "notBefore" | "countsUnhealthy"> & {
  /** Resolves when the rollout is stopped meanwhile. */
  stop: RestatePromise<null>;
  settings: PollSettings;
};

type Wait = PollContext & WaitInstruction;

/** The limit of one reading; the next poll tries again. */
const readLimitMs = 30_000;

/** Waits one interval, and reads what the conditions of the wait are about. */
export async function waitAndPoll(
  ctx: Context,
  wait: Wait,
): Promise<Pick<Advance, "finishedWave" | "isStopped" | "look">> {
  const { finishedWave, round, sleepMs } = wait;
  const ended = finishedWave === undefined ? {} : { finishedWave };
  const slept = await RestatePromise.race([
    ctx.sleep(sleepMs).map(() => true),
    ctx.signal<null>(wakeSignal(round)).map(() => true),
    wait.stop.map(() => false),
  ]);
  const seen = slept ? await poll(ctx, wait) : {};
  return { ...ended, ...(seen.look === undefined ? { isStopped: true } : seen) };
}

/** Reads what may keep the next thing from starting. Without an answer: the rollout was stopped meanwhile. */
export async function poll(ctx: Context, at: PollContext | Wait): Promise<{ look?: Readings }> {
  const reading = ctx.run("look", () => readConditions(ctx, at));
  // Not awaited alone: a Cancel must not wait for a fleet that does not answer.
  return RestatePromise.race([
    reading.map((seen) => ({ look: seen as Readings })),
    at.stop.map(() => ({})),
  ]);
}

async function readConditions(ctx: Context, at: PollContext | Wait): Promise<Readings> {
  const { name, readChecks, readStrays, readWindows, listFleet } = at.settings;
  const {
    rolloutId,
    windowsEpoch,
    gate,
    soaks,
    image,
    sinceMs,
  }: PollContext & Partial<WaitInstruction> = at;
  const atMs = Date.now();
  const [reports, strays, windows, fleet] = await Promise.all([
    gate === undefined ? null : orNull(ctx, () => readChecks(gate.checks, sinceMs ?? atMs)),
    soaks !== true || image === undefined
      ? null
      : orNull(ctx, () => readStrays({ fleet: name, rolloutId, image })),
    orNull(ctx, async () =>
      openingsOf(at, await readPatiently(readLimitMs, () => readWindows(name))),
    ),
    at.countsUnhealthy === true
      ? orNull(ctx, async () => unhealthyOf(await readPatiently(readLimitMs, listFleet)))
      : null,
  ]);
  return { atMs, reports, strays, windows, windowsEpoch, fleet };
}

/** The maximal number of ids: a journal must not grow with a fleet that is down. */
const namedUnhealthy = 1_000;

function unhealthyOf(fleet: readonly FleetMember[]): Unhealthy {
  const ids = fleet.filter(({ health }) => health === "unhealthy").map(({ id }) => id);
  return { ids: ids.slice(0, namedUnhealthy), more: Math.max(0, ids.length - namedUnhealthy) };
}

/** Worked out here and not in a handler of the rollout object: a year of windows takes a tenth of a second. */
function openingsOf({ notBefore }: PollContext, windows: readonly RolloutWindow[]): Openings {
  const startMs = notBefore === undefined ? undefined : Date.parse(notBefore);
  return openingsAt(windows, { nowMs: Date.now(), startMs });
}

/** No endless retries: the conditions decide how long they can do without a reading. */
async function orNull<Value>(ctx: Context, read: () => Promise<Value>): Promise<Value | null> {
  try {
    const late = new Error(`there was no answer within ${readLimitMs / 1_000} s`);
    return await unlessLate(read, { limitMs: readLimitMs, late });
  } catch (error) {
    const { message: detail } = error as Error;
    ctx.console.warn("conditions of a rollout not read", { detail });
    return null;
  }
}
