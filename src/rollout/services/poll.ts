/** Waits before the next thing starts, and looks at what the conditions are about. */
import { type Context, RestatePromise } from "@restatedev/restate-sdk";
import type { FleetMember, ReasonCode } from "#fleet/contract.ts";
import { unlessLate } from "#kernel/async.ts";
import { compareImages } from "#kernel/image-reference.ts";
import { readPatiently } from "#kernel/read-now.ts";
import { toIso } from "#kernel/time.ts";
import type { DueGate } from "#rollout/conditions/gate.ts";
import { wakeSignal } from "#rollout/conditions/wait.ts";
import type { Fleets, ListFleet } from "#rollout/fleets.ts";
import type { GateTools, WaveFacts } from "#rollout/gates/kind.ts";
import { type GateReading, kindOf } from "#rollout/gates/registry.ts";
import type { Advance, Readings, Run, Unhealthy, WaitInstruction } from "#rollout/internal.ts";
import type { Stray } from "#rollout/rules/outcome.ts";
import { type Openings, openingsAt } from "#rollout/windows/calendar.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";

type Rollout = { fleet: string; rolloutId: string; image: string };

/** Reads the fleet now; 1,000 sentinels at most. Throws when the fleet or the database does not answer. */
type ReadStrays = (rollout: Rollout) => Promise<Stray[]>;

type Parts = {
  fleets: Fleets;
  /** The sentinels whose deploy has succeeded in this rollout. */
  readSucceeded: (rolloutId: string) => Promise<string[]>;
};

const limit = 1_000;

/** Finds sentinels that took the image of a rollout and do not run it well any more. */
export function createReadStrays({ fleets, readSucceeded }: Parts): ReadStrays {
  return async ({ fleet, rolloutId, image }) => {
    const members = await fleets.get(fleet).listFleet();
    const listed = new Map(members.map((member) => [member.id, member]));
    return (await readSucceeded(rolloutId))
      .flatMap((id) => toStray(id, listed.get(id), image))
      .slice(0, limit);
  };
}

/** A running image that is not known, or only by another part of its name, is no reason to call the sentinel astray. */
function toStray(id: string, member: FleetMember | undefined, image: string): Stray[] {
  // The list may be wrong, or the sentinel was taken away: that says nothing about the image.
  if (member === undefined) return [{ id, reason: gone, ofFleet: true }];
  const { running_image, health } = member;
  if (running_image !== "" && compareImages(running_image, image) === "other") {
    const serves = health === "unhealthy" ? "" : running_image;
    return [{ id, reason: `reverted: it runs ${running_image} now`, serves }];
  }
  return health === "unhealthy" ? [{ id, reason: unhealthy, serves: "" }] : [];
}

const gone = `${"target_gone" satisfies ReasonCode}: the fleet does not list it any more`;
const unhealthy = `${"probe_failing" satisfies ReasonCode}: it turned unhealthy`;

/** The windows that hold for this fleet. */
export type ReadWindows = (fleet: string) => Promise<RolloutWindow[]>;

export type PollSettings = {
  /** The fleet's name. */
  name: string;
  tools: GateTools;
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

/** Reads the conditions once. */
export async function readConditions(
  ctx: Pick<Context, "console">,
  at: Omit<PollContext, "stop"> & Partial<WaitInstruction>,
): Promise<Readings> {
  const { name, readStrays, readWindows, listFleet } = at.settings;
  const { rolloutId, windowsEpoch, gates = [], soaks, image, facts } = at;
  const atMs = Date.now();
  const [read, strays, windows, fleet] = await Promise.all([
    facts === undefined ? [] : readGates(ctx, { gates, facts, tools: at.settings.tools }),
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
  return { atMs, gates: read, strays, windows, windowsEpoch, fleet };
}

/** A sleep may end a little early. */
const earlyMs = 250;

/** A gate that is not due yet is read at a later poll: what is polled for others must not hurry it. */
function readGates(
  ctx: Pick<Context, "console">,
  { gates, facts, tools }: { gates: readonly DueGate[]; facts: WaveFacts; tools: GateTools },
): Promise<GateReading[]> {
  return Promise.all(
    gates.map(async ({ gate, dueMs, ...attempt }) => {
      if (Date.now() + earlyMs < dueMs) return { name: gate.name, found: null };
      const kind = kindOf(gate);
      const found = await orNull(ctx, () => kind.read(gate, tools, { ...facts, ...attempt }));
      // A reading all the same: it would be due at once again.
      const isMissed = found === null && kind.reads === "paced";
      return { name: gate.name, found: isMissed ? missed(Date.now()) : found };
    }),
  );
}

function missed(nowMs: number): GateReading["found"] {
  return { reading: { at: toIso(nowMs), value: "could not be read", verdict: "inconclusive" } };
}

/** The maximal number of ids: a journal must not grow with a fleet that is down. */
const namedUnhealthy = 1_000;

function unhealthyOf(fleet: readonly FleetMember[]): Unhealthy {
  const ids = fleet.filter(({ health }) => health === "unhealthy").map(({ id }) => id);
  return { ids: ids.slice(0, namedUnhealthy), more: Math.max(0, ids.length - namedUnhealthy) };
}

/** Worked out here and not in a handler of the rollout object: a year of windows takes a tenth of a second. */
function openingsOf(
  { notBefore }: Pick<PollContext, "notBefore">,
  windows: readonly RolloutWindow[],
): Openings {
  const startMs = notBefore === undefined ? undefined : Date.parse(notBefore);
  return openingsAt(windows, { nowMs: Date.now(), startMs });
}

/** No endless retries: the conditions decide how long they can do without a reading. */
async function orNull<Value>(
  ctx: Pick<Context, "console">,
  read: () => Promise<Value>,
): Promise<Value | null> {
  try {
    const late = new Error(`there was no answer within ${readLimitMs / 1_000} s`);
    return await unlessLate(read, { limitMs: readLimitMs, late });
  } catch (error) {
    const { message: detail } = error as Error;
    ctx.console.warn("conditions of a rollout not read", { detail });
    return null;
  }
}
