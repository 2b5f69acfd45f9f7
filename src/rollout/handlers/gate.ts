/** The exclusive handler that opens the gate between two waves, leaves it closed, or pauses the rollout. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { GateReading, Instruction } from "#rollout/internal.ts";
import { judgeGate, withReports } from "#rollout/rules/gate.ts";
import { nextStep } from "#rollout/rules/progress.ts";
import { type RolloutHead, readHead, writeHead } from "#rollout/state.ts";
import { announce } from "./announce.ts";
import { toStatus } from "./answer.ts";
import { startWave, stopSuperseded, stopWith } from "./waves.ts";

export async function passGate(ctx: ObjectContext, request: GateReading): Promise<Instruction> {
  const head = await readHead(ctx);
  if (head === null || head.rolloutId !== request.rolloutId) {
    return stopSuperseded(ctx, request.rolloutId);
  }
  const { gate, gateStatus } = head;
  if (head.state !== "in_progress" || gate === undefined || gateStatus === undefined) {
    return { action: "stop", status: toStatus(head) };
  }
  const status = withReports(gateStatus, request.reports ?? []);
  const updated: RolloutHead = { ...head, gateStatus: status };
  const verdict = judgeGate(status, await ctx.date.now());
  if (verdict.action === "pause") {
    const { reason } = verdict;
    return stopWith(
      await announce(ctx, { ...updated, state: "paused", cause: "gate", reason }, "paused"),
    );
  }
  if (verdict.action === "open") return openGate(ctx, updated);
  writeHead(ctx, updated);
  const { finishedWave } = request;
  return { action: "wait", gate, finishedWave, sinceMs: Date.parse(status.since) };
}

async function openGate(ctx: ObjectContext, head: RolloutHead): Promise<Instruction> {
  const step = nextStep(head.waves, undefined);
  if (step.action === "run") return startWave(ctx, head, step.waveIndex);
  throw new Error("a gate was closed although no wave follows");
}
