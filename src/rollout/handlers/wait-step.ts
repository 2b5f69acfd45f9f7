/** Tells a run to wait and to look again, and people what for. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { Wait } from "#rollout/conditions/condition.ts";
import { isLookDue } from "#rollout/conditions/soak.ts";
import { endedWave, sleepMsOf, withVerdict } from "#rollout/conditions/wait.ts";
import type { Instruction } from "#rollout/internal.ts";
import type { WaitReason } from "#rollout/policy/contract.ts";
import { type RolloutHead, readWindowsEpoch, type WaveWait, writeHead } from "#rollout/state.ts";
import { announce } from "./announce.ts";
import { sendAgain } from "./send-history.ts";

export async function waitFor(
  ctx: ObjectContext,
  head: RolloutHead,
  { verdict, nowMs }: { verdict: Wait; nowMs: number },
): Promise<Instruction> {
  const waiting = withVerdict(head, verdict);
  const isTold = verdict.retryMs === undefined && isNews(waiting.wait, head.wait);
  await writeWait(ctx, waiting, isTold);
  return waitInstruction(ctx, waiting, { nowMs, sleepMs: sleepMsOf(waiting, verdict, nowMs) });
}

/** Nothing is said of it: it takes milliseconds. */
export function pollAgain(
  ctx: ObjectContext,
  head: RolloutHead,
  nowMs: number,
): Promise<Instruction> {
  writeHead(ctx, head);
  return waitInstruction(ctx, head, { nowMs, sleepMs: 1 });
}

async function waitInstruction(
  ctx: ObjectContext,
  head: RolloutHead,
  { nowMs, sleepMs }: { nowMs: number; sleepMs: number },
): Promise<Instruction> {
  const finishedWave = endedWave(head);
  const { since = head.updatedAt, round = 0 } = head.wait ?? {};
  const isSoaked = head.wait !== undefined && isLookDue(head.wait, nowMs + sleepMs);
  return {
    action: "wait",
    image: head.image,
    ...(finishedWave !== undefined && { finishedWave }),
    sinceMs: Date.parse(since),
    round,
    sleepMs,
    windowsEpoch: await readWindowsEpoch(ctx),
    ...(head.gateStatus !== undefined && head.gate !== undefined && { gate: head.gate }),
    ...(isSoaked && { soaks: true }),
  };
}

/** Waits that an operator may have to act on, or that take hours. */
const announced: readonly WaitReason[] = ["approval", "window"];

/** True if it waits for something else than before; an announced wait is news with another reason, too. */
function isNews({ waitingFor, reason }: WaveWait, before: WaveWait | undefined): boolean {
  if (waitingFor !== before?.waitingFor) return true;
  return waitingFor !== undefined && announced.includes(waitingFor) && reason !== before?.reason;
}

async function writeWait(
  ctx: ObjectContext,
  head: RolloutHead & { wait: WaveWait },
  isTold: boolean,
): Promise<void> {
  const { waitingFor } = head.wait;
  if (isTold && waitingFor !== undefined && announced.includes(waitingFor)) {
    await announce(ctx, head, "waiting");
    return;
  }
  writeHead(ctx, head);
  if (isTold) await sendAgain(ctx, head);
}
