/** Waits before the next thing starts, and looks at what the wait is about. */
import { type Context, RestatePromise } from "@restatedev/restate-sdk";
import { unlessLate } from "#kernel/unless-aborted.ts";
import type { ReadChecks } from "#rollout/conditions/gate.ts";
import { wakeSignal } from "#rollout/conditions/wait.ts";
import { singletonKey } from "#rollout/contract.ts";
import {
  type Instruction,
  type Look,
  rolloutObject,
  type WaitInstruction,
} from "#rollout/internal.ts";
import type { ReadStrays } from "./strays.ts";

export type LookSettings = {
  /** Reads reports of checks since a time. */
  readChecks: ReadChecks;
  readStrays: ReadStrays;
};

type Wait = WaitInstruction & {
  rolloutId: string;
  /** Resolves when the rollout is stopped meanwhile. */
  stop: RestatePromise<null>;
};

/** How long one reading may take; the next look tries again. */
const readLimitMs = 30_000;

/** Waits one interval, reads what the conditions are about, and gets the next instruction. */
export async function waitAndLook(
  ctx: Context,
  wait: Wait,
  settings: LookSettings,
): Promise<Instruction> {
  const { rolloutId, finishedWave, round, sleepMs } = wait;
  const rollout = ctx.client(rolloutObject, singletonKey);
  const asked = { rolloutId, runner: ctx.request().id, finishedWave };
  const stop = wait.stop.map(() => "stopped" as const);
  const slept = await RestatePromise.race([
    ctx.sleep(sleepMs).map(() => "slept" as const),
    ctx.signal<null>(wakeSignal(round)).map(() => "slept" as const),
    stop,
  ]);
  if (slept === "stopped") return rollout.advance({ ...asked, isStopped: true });
  const reading = ctx.run("look", () => lookAt(ctx, wait, settings));
  // Not awaited alone: a Cancel must not wait for a fleet that does not answer.
  const look = await RestatePromise.race([reading, stop]);
  return rollout.advance({ ...asked, ...(look === "stopped" ? { isStopped: true } : { look }) });
}

async function lookAt(
  ctx: Context,
  { gate, soaks, rolloutId, image, sinceMs }: Wait,
  { readChecks, readStrays }: LookSettings,
): Promise<Look> {
  const atMs = Date.now();
  const [reports, strays] = await Promise.all([
    gate === undefined ? null : orNull(ctx, () => readChecks(gate.checks, sinceMs)),
    soaks === true ? orNull(ctx, () => readStrays({ rolloutId, image })) : null,
  ]);
  return { atMs, reports, strays };
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
