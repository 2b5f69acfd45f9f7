/** The gates between two waves: whether all of them allow the next one. Pure. */

import type { PauseCause } from "#rollout/contract.ts";
import type { WaveCompared } from "#rollout/gates/compare-images.ts";
import type { GateOf, GateState, NamedGate } from "#rollout/gates/contract.ts";
import { type EvaluatedGate, evaluateGates, kindOf } from "#rollout/gates/registry.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { type Condition, start, type Verdict } from "./condition.ts";

/** A gate that has failed precedes those that wait, and all the timeout. It stops a last wave that soaks, too. */
export const evaluateGate: Condition = ({ head, next, nowMs }) => {
  if (next.kind === "deploy") return start;
  const found = gatesAt(head, nowMs);
  const failed = found.find(({ verdict }) => verdict === "fail");
  if (failed !== undefined) {
    const reason = `the gate is closed: ${labelled(failed)}`;
    const rollsBack = failed.rollsBack === true && { rollsBack: true as const };
    return { action: "stop", cause: causeOf(failed), reason, isOfImage: true, ...rollsBack };
  }
  if (next.kind === "end") return start;
  return waitOrStop(
    found.filter(({ verdict, isDoubtful }) => verdict !== "pass" && isDoubtful !== true),
    nowMs,
  );
};

/** Of gates that have passed: a wave starts at a fresh reading that passes. Approvals and windows do not wait for it. */
export const evaluateDoubt: Condition = ({ head, next, nowMs }) => {
  if (next.kind !== "wave") return start;
  return waitOrStop(
    gatesAt(head, nowMs).filter(({ isDoubtful }) => isDoubtful === true),
    nowMs,
  );
};

function waitOrStop(pending: readonly EvaluatedGate[], nowMs: number): Verdict {
  if (pending.length === 0) return start;
  const overdue = pending.find(({ endMs }) => nowMs >= endMs);
  if (overdue !== undefined) {
    const reason = `the gate timed out: ${labelled(overdue)}`;
    return { action: "stop", cause: causeOf(overdue), reason, isOfImage: false };
  }
  const reason = `waits for ${pending.map(waitWords).join("; ")}`;
  const untilMs = Math.min(...pending.map(({ endMs }) => endMs));
  const asksPeople = pending.some((one) => one.asksPeople === true) && {
    asksPeople: true as const,
  };
  return { action: "wait", waitingFor: "gate", reason, untilMs, ...asksPeople };
}

function gatesAt({ gateStatus, gates = [], wait }: RolloutHead, nowMs: number): EvaluatedGate[] {
  if (gateStatus === undefined) return [];
  return evaluateGates(gateStatus, gates, { nowMs, resumedAt: wait?.resumedAt });
}

function causeOf({ gate }: EvaluatedGate): PauseCause {
  return gate.kind === "compare" ? "comparison" : "gate";
}

/** Checks have names of their own. */
function labelled({ gate, reason }: EvaluatedGate): string {
  return gate.kind === "checks" ? reason : `${gate.name}: ${reason}`;
}

function waitWords(one: EvaluatedGate): string {
  return one.gate.kind === "checks" ? `its checks: ${one.reason}` : `the gate ${labelled(one)}`;
}

/** A gate to be read at this time or later, with the number of its readings so far. */
export type DueGate = {
  gate: NamedGate;
  dueMs: number;
  attempt: number;
  /** Of the kind `compare`. */
  compared?: WaveCompared;
};

/** The gates that are read in this wait. */
export function dueGates(head: RolloutHead): DueGate[] {
  const { gates = [], gateStatus } = head;
  if (gateStatus === undefined) return [];
  return gateStatus.gates.flatMap((state) => {
    const gate = gates.find(({ name }) => name === state.name);
    if (gate === undefined) return [];
    const { reads, isKept } = kindOf(gate);
    const isOver = state.verdict === "pass" && !isKept;
    if (reads === "never" || isOver) return [];
    const dueMs = dueMsOf(gate, state, gateStatus.since);
    const compared = gate.kind === "compare" && { compared: toCompared(head, gate, state) };
    return [{ gate, dueMs, attempt: state.count.all + 1, ...compared }];
  });
}

function toCompared(
  { startedAt: requestedAt, waves, policy, ledgers, wait }: RolloutHead,
  { name, minutes }: NamedGate & GateOf<"compare">,
  { comparison }: GateState,
): WaveCompared {
  const ledger = ledgers?.[name];
  // Windows, approvals and `not_before` may hold it for days.
  const startedAt = waves[0]?.startedAt ?? requestedAt;
  return {
    startedMs: Date.parse(startedAt),
    settledMs: Date.parse(wait?.since ?? startedAt),
    minutes,
    looks: comparison?.looks ?? [],
    ...(ledger !== undefined && { ledger }),
    ...(policy.canary_labels !== undefined && { canaryLabels: policy.canary_labels }),
  };
}

/** 0: whenever the conditions are polled. */
function dueMsOf(gate: NamedGate, { readAt }: GateState, since: string): number {
  const { reads, pollMs, firstMs } = kindOf(gate);
  if (reads === "always") return 0;
  return readAt === undefined
    ? Date.parse(since) + firstMs(gate)
    : Date.parse(readAt) + pollMs(gate);
}

/** The time until a gate has to be read, in whatever wait; Infinity: none has to be. */
export function gateSleepMs(head: RolloutHead, nowMs: number): number {
  const { wait } = head;
  const pending = new Set(
    gatesAt(head, nowMs).flatMap(({ gate, verdict, isDoubtful, endMs }) => {
      // While an approval is missing it has no end: each reading is a step in the journal of the run.
      const isSlow = isDoubtful === true && nowMs >= endMs;
      return verdict === "pass" || isSlow ? [] : gate.name;
    }),
  );
  const times = dueGates(head).flatMap(({ gate, dueMs }) => {
    if (!pending.has(gate.name)) return [];
    if (dueMs > 0) return dueMs - nowMs;
    return wait?.waitingFor === "gate" ? kindOf(gate).pollMs(gate) : [];
  });
  return Math.min(...times, Number.POSITIVE_INFINITY);
}
