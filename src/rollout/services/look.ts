/** Waits before the next thing starts, and looks at what the wait is about. */
import { type Context, RestatePromise } from "@restatedev/restate-sdk";
import type { CheckReport, ReadChecks } from "#rollout/conditions/gate.ts";
import { wakeSignal } from "#rollout/conditions/wait.ts";
import { type SentinelReason, singletonKey } from "#rollout/contract.ts";
import { type Instruction, rolloutObject, type WaitInstruction } from "#rollout/internal.ts";
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

/** Waits one interval, reads what the conditions are about, and gets the next instruction. */
export async function waitAndLook(
  ctx: Context,
  wait: Wait,
  settings: LookSettings,
): Promise<Instruction> {
  const { rolloutId, finishedWave, round, sleepMs, stop } = wait;
  const rollout = ctx.client(rolloutObject, singletonKey);
  const isStopped = await RestatePromise.race([
    ctx.sleep(sleepMs).map(() => false),
    ctx.signal<null>(wakeSignal(round)).map(() => false),
    stop.map(() => true),
  ]);
  const asked = { rolloutId, runner: ctx.request().id, finishedWave };
  if (isStopped) return rollout.advance({ ...asked, isStopped });
  const reports = await readReports(ctx, wait, settings);
  const strays = await readStrays(ctx, wait, settings);
  return rollout.advance({ ...asked, reports, strays });
}

async function readReports(
  ctx: Context,
  { gate, sinceMs }: Wait,
  { readChecks }: LookSettings,
): Promise<CheckReport[] | null> {
  if (gate === undefined) return null;
  return ctx.run("read-checks", () => orNull(ctx, readChecks(gate.checks, sinceMs)));
}

async function readStrays(
  ctx: Context,
  { soaks, rolloutId, image }: Wait,
  settings: LookSettings,
): Promise<SentinelReason[] | null> {
  if (soaks !== true) return null;
  return ctx.run("read-strays", () => orNull(ctx, settings.readStrays({ rolloutId, image })));
}

/** No endless retries, so that a Cancel is noticed while nothing can be read. */
function orNull<Value>(ctx: Context, reading: Promise<Value>): Promise<Value | null> {
  return reading.catch((error: Error) => {
    ctx.console.warn("conditions of a rollout not read", { detail: error.message });
    return null;
  });
}
