/** Lists the fleet at the start of a rollout and freezes it into waves and batches. */
import { CancelledError, type Context, implement, TerminalError } from "@restatedev/restate-sdk";
import type { FleetMember } from "#fleet/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import { type LeftOut, reasonOf } from "#rollout/choice/leave-out.ts";
import { requireMatches } from "#rollout/choice/unmatched.ts";
import { type Fleets, keyOf } from "#rollout/fleets.ts";
import { type LeftOutEntry, rolloutHistory, toPlanned } from "#rollout/history/interface.ts";
import {
  type CaptureRequest,
  type CaptureResult,
  rolloutCapture,
  rolloutObject,
} from "#rollout/internal.ts";
import { type PlanRequest, planRollout, toBatches, toWaveProgress } from "#rollout/rules/plan.ts";
import { inlineLists, soleImage } from "#rollout/rules/progress.ts";
import type { Batch, RolloutHead, WaveProgress } from "#rollout/state.ts";

/** The pins that hold for this fleet. */
export type ReadPins = (fleet: string) => Promise<Pin[]>;

/** Batches per write: far below the size at which Restate refuses a message. */
const batchesPerWrite = 20;
const idsPerEntry = 5_000;

export type CaptureParts = {
  fleets: Fleets;
  readPins: ReadPins;
  /** The time for which the fleet may be unreachable before the rollout is paused instead. */
  listForMs: number;
};

export function createCapture(parts: CaptureParts) {
  return implement(rolloutCapture, {
    handlers: { run: (ctx, request) => captureFleet(ctx, request, parts) },
    options: { ingressPrivate: true, journalRetention: { minutes: 5 } },
  });
}

async function captureFleet(
  ctx: Context,
  wanted: CaptureRequest,
  { fleets, readPins, listForMs }: CaptureParts,
): Promise<CaptureResult> {
  const key = keyOf(wanted);
  const rollout = ctx.client(rolloutObject, key);
  const { rolloutId } = wanted;
  const request = await rollout.toCapture(wanted);
  if (request === null) return null;
  const { unchecked = {} } = request;
  const list = async () => {
    const fleet = await fleets.get(key).listFleet();
    const asked = { ...request, pins: await readPins(key), nowMs: Date.now() };
    return unlessRefused(() => {
      requireMatches(fleet, { ...unchecked, pins: asked.pins, nowMs: asked.nowMs });
      return freezeFleet(fleet, asked);
    });
  };
  const plan = await ctx.run("list-fleet", list, { maxRetryDuration: listForMs }).catch(unlisted);
  if ("unlisted" in plan) return plan;
  for (let first = 0; first < plan.batches.length; first += batchesPerWrite) {
    const batches = plan.batches.slice(first, first + batchesPerWrite);
    await rollout.storeBatches({ rolloutId, first, batches });
  }
  const { waves, inline } = plan;
  // History is told of those that are in it, and of no others.
  if (!(await rollout.freeze({ rolloutId, waves, inline }))) return null;
  // The order matters: as soon as history has members, it has everybody who is none.
  for (const entry of plan.leftOut) ctx.sendClient(rolloutHistory, rolloutId).leaveOut(entry);
  for (let first = 0; first < plan.batches.length; first += batchesPerWrite) {
    const batches = plan.batches.slice(first, first + batchesPerWrite).map(toPlanned);
    ctx.sendClient(rolloutHistory, rolloutId).plan({ batches });
  }
  return null;
}

/** Returns a refused plan as a value: the request does not fit the fleet, and would not at another try. */
function unlessRefused<Plan>(plan: () => Plan): Plan | { unlisted: string } {
  try {
    return plan();
  } catch (error) {
    if (error instanceof ProblemError) return { unlisted: error.message };
    throw error;
  }
}

/** A value, not an error: an error also means that this invocation was killed, which is not the fleet's. */
function unlisted(error: unknown): { unlisted: string } {
  if (!(error instanceof TerminalError) || error instanceof CancelledError) throw error;
  return { unlisted: error.message };
}

type FrozenFleet = {
  waves: WaveProgress[];
  batches: Batch[];
  inline: Partial<RolloutHead>;
  leftOut: LeftOutEntry[];
};

/** The plan that is journaled has ids and numbered images: about 25 bytes per sentinel. */
function freezeFleet(fleet: readonly FleetMember[], request: PlanRequest): FrozenFleet {
  const { waves: planned, leftOut } = planRollout(fleet, request);
  const batches = toBatches(planned);
  const waves = toWaveProgress(planned);
  const total = waves.reduce((sum, wave) => sum + wave.size, 0);
  const counts = { fleetSize: fleet.length, leftOut: leftOut.length };
  const inline = { ...counts, ...soleImage(batches), ...inlineLists(total, batches) };
  return { waves, batches, inline, leftOut: entriesOf(leftOut) };
}

/** By reason, a limited number in each. */
function entriesOf(leftOut: readonly LeftOut[]): LeftOutEntry[] {
  const byReason = Map.groupBy(leftOut, reasonOf);
  return [...byReason].flatMap(([reason, members]) =>
    Array.from({ length: Math.ceil(members.length / idsPerEntry) }, (_, i) => ({
      reason,
      ids: members.slice(i * idsPerEntry, (i + 1) * idsPerEntry).map(({ id }) => id),
    })),
  );
}
