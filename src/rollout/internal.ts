/** What the parts of a rollout call on each other. Only the public handlers are reachable from outside. */
import { iface } from "@restatedev/restate-sdk";
import type { ChatMessage } from "#notify/contract.ts";
import type { Actor } from "./actor.ts";
import {
  EmptyRequest,
  type Gate,
  HistoryRequest,
  type RollbackResult,
  RollbackResult as RollbackResultSchema,
  RolloutHistory,
  RolloutPlan,
  RolloutRequest,
  type RolloutStatus,
  RolloutStatus as RolloutStatusSchema,
  rolloutServiceName,
} from "./contract.ts";
import type { CheckReport } from "./rules/gate.ts";
import type { RolloutEvent } from "./rules/messages.ts";
import type { DeployOutcome, OutcomeChange, RunKind, Target } from "./rules/outcome.ts";
import type { Batch, RolloutHead, SizedBatch, WaveProgress } from "./state.ts";

export type BeginRequest = {
  image: string;
  requestedImage: string;
  wavePercentages: number[];
  startedBy: string;
  /** Whether the gateway vouches for the name. */
  isSigned?: true;
  gate?: Gate;
};
export type RunHandle = { rolloutId: string; runner: string };
/** What a run starts from: `drain` are invocations that may still be deploying. */
export type Run = { rolloutId: string; kind: RunKind; drain: string[] };
/** What the fleet is to be frozen for; null when it is frozen already, or no longer wanted. */
export type ToCapture = { image: string; wavePercentages: number[] } | null;
/** `isStopped`: the run was told to stop while it waited for batches, which may be at work still. */
export type Advance = { rolloutId: string; finishedWave?: number; isStopped?: true };
export type Instruction =
  | { action: "run"; waveIndex: number; batches: SizedBatch[] }
  | { action: "wait"; gate: Gate; finishedWave: number; sinceMs: number }
  | { action: "stop"; status: RolloutStatus };
/** What the checks of a gate found after a wave; null when that could not be read. */
export type GateReading = {
  rolloutId: string;
  finishedWave: number;
  reports: CheckReport[] | null;
};
export type LaunchRequest = { rolloutId: string; batch: number; kind: RunKind; parallel: number };
/** `idle`: everyone in the batch has a result already. `stopped`: the rollout is no longer at work. */
export type LaunchAnswer = { invocation: string } | "idle" | "stopped";
/** The work of one batch, for the invocation `run`; an older version's batch has none. */
export type BatchRun = LaunchRequest & { targets: Target[]; run?: string };
export type RecordRequest = {
  rolloutId: string;
  batch: number;
  kind: RunKind;
  invocation: string;
  results: DeployOutcome[];
  inFlight: number;
  closed: boolean;
};
/** An invocation that cannot go on: another revision of the program has begun it. */
export type WedgedCall = {
  id: string;
  service: string;
  key: string | null;
  handler: string;
  /** Who called it. */
  parent: string | null;
  revision: string | null;
  /** What it was called with, where it is to be called once more. */
  input?: unknown;
};
export type ReleaseRequest = { revision: string; wedged: WedgedCall[] };
/** Who cannot go on, and the revisions that began and that run now. */
export type VersionStop = { involved: string[]; from: string[]; to: string };
/** `cause`: an earlier version may leave it out; then it is told from how far the rollout had come. */
export type RunEnd = {
  rolloutId: string;
  runner: string;
  failure: string;
  cause?: "run" | "fleet";
};
/** Why the fleet could not be listed; null when it was, or need not be. */
export type CaptureResult = { unlisted: string } | null;

/** The virtual object, keyed `singleton`. Exclusive handlers are short: what takes long is a run. */
export const rolloutObject = iface.object(
  rolloutServiceName,
  {
    Rollout: iface.shared.schemas({
      input: RolloutRequest,
      output: RolloutStatusSchema,
      description: "Starts a rollout and answers once it is completed, paused or cancelled.",
    }),
    Resume: iface.shared.schemas({
      input: EmptyRequest,
      output: RolloutStatusSchema,
      description: "Goes on with the next wave after a failed one; answers like Rollout.",
    }),
    Cancel: iface.schemas({
      input: EmptyRequest,
      output: RolloutStatusSchema,
      description: "Starts nothing more; deploys in flight finish and are recorded.",
    }),
    RollbackAll: iface.shared.schemas({
      input: EmptyRequest,
      output: RollbackResultSchema,
      description: "Puts the previous image back on every sentinel that took the new one.",
    }),
    Status: iface.shared.schemas({
      input: EmptyRequest,
      output: RolloutStatusSchema,
      description: "Where the rollout is now.",
    }),
    Plan: iface.shared.schemas({
      input: RolloutRequest,
      output: RolloutPlan,
      description: "The exact waves that a Rollout with this request would run. Changes nothing.",
    }),
    History: iface.shared.schemas({
      input: HistoryRequest,
      output: RolloutHistory,
      description: "Past rollouts, newest first.",
    }),
    begin: iface.json<BeginRequest, RunHandle>(),
    beginResume: iface.json<Actor, RunHandle | { status: RolloutStatus }>(),
    beginRollback: iface.json<Actor, RunHandle>(),
    // Exclusive although it only reads: the run may begin before `begin` has ended.
    toCapture: iface.json<{ rolloutId: string }, ToCapture>(),
    storeBatches: iface.json<{ rolloutId: string; first: number; batches: Batch[] }, null>(),
    freeze: iface.json<
      { rolloutId: string; waves: WaveProgress[]; inline: Partial<RolloutHead> },
      null
    >(),
    advance: iface.json<Advance, Instruction>(),
    passGate: iface.json<GateReading, Instruction>(),
    launchBatch: iface.json<LaunchRequest, LaunchAnswer>(),
    record: iface.json<RecordRequest, null>(),
    endRollback: iface.json<{ rolloutId: string }, RollbackResult>(),
    rollbackBatches: iface.json<{ rolloutId: string }, SizedBatch[]>(),
    runnerEnded: iface.json<RunEnd, RollbackResult>(),
    /** Without `runner`: whichever is at work. */
    repair: iface.json<{ runner?: string }, null>(),
    openInvocations: iface.shared.json<{ rolloutId: string }, string[]>(),
    forgetBatches: iface.json<{ rolloutId?: string; invocations: string[] }, null>(),
    stopForVersion: iface.json<VersionStop, null>(),
  },
  {
    description: "Replaces the image of every sentinel, wave by wave. Its only key is `singleton`.",
  },
);

/** Runs the waves of a rollout, or a rollback, from one end to the other. */
export const rolloutRuns = iface.service("vedette.v1.RolloutRunner", {
  run: iface.json<Run, RollbackResult>(),
});

/** Deploys the members of one batch and records each result. */
export const rolloutBatch = iface.service("vedette.v1.RolloutBatch", {
  run: iface.json<BatchRun, { stopped: boolean }>(),
});

/** Lists the fleet and freezes it into batches. */
export const rolloutCapture = iface.service("vedette.v1.RolloutCapture", {
  run: iface.json<{ rolloutId: string }, CaptureResult>(),
});

/** Looks whether a runner has ended without saying so. */
export const rolloutWatch = iface.service("vedette.v1.RolloutWatch", {
  run: iface.json<{ rolloutId: string; runner: string }, null>(),
});

/** Frees what invocations of another version hold. */
export const rolloutRelease = iface.service("vedette.v1.RolloutRelease", {
  release: iface.json<ReleaseRequest, null>(),
});

/** Writes history, one object per rollout id, so that writes keep their order. */
export const rolloutHistory = iface.object("vedette.v1.RolloutHistory", {
  save: iface.json<HistoryEntry, null>(),
  plan: iface.json<
    { batches: { wave: number; ids: string[]; previousImages: string[] }[] },
    null
  >(),
  outcomes: iface.json<OutcomesEntry, null>(),
});

/** Results, with the totals that the rollout has by them; without totals they are counted anew. */
export type OutcomesEntry = {
  changes: OutcomeChange[];
  atMs: number;
  isLate: boolean;
  totals?: Pick<RolloutHead, "sequence" | "updatedAt" | "succeeded" | "failed" | "reverted">;
};

/** A transition as people were told of it; `by` when someone asked for it. */
export type TransitionMessage = { event: RolloutEvent; message: ChatMessage; by?: string };

/** A row of the table `rollouts`, and one of `rollout_messages`. */
export type HistoryEntry = { told: TransitionMessage } & Pick<
  RolloutHead,
  | "image"
  | "requestedImage"
  | "wavePercentages"
  | "state"
  | "reason"
  | "startedBy"
  | "startedAt"
  | "updatedAt"
  | "currentWave"
  | "totalWaves"
  | "total"
  | "succeeded"
  | "failed"
  | "reverted"
  | "sequence"
>;
