/** The handlers through which the parts of a rollout call each other. Only public ones are reachable. */
import { iface } from "@restatedev/restate-sdk";
import type { CiEvidence } from "#ci/contract.ts";
import type { Actor } from "#kernel/actor.ts";
import type { CiRun } from "#kernel/roles.ts";
import type { Trace } from "#kernel/tracing.ts";
import {
  ApproveRequest,
  EmptyRequest,
  HistoryRequest,
  ResumeRequest,
  RollbackRequest,
  SkipRequest,
} from "./calls-contract.ts";
import type { DueGate } from "./conditions/gate.ts";
import {
  type RollbackResult,
  RollbackResult as RollbackResultSchema,
  RolloutHistory,
  RolloutPlan,
  RolloutRequest,
  type RolloutStatus,
  RolloutStatus as RolloutStatusSchema,
  rolloutServiceName,
} from "./contract.ts";
import type { OfFleet } from "./fleets.ts";
import type { NamedGate } from "./gates/contract.ts";
import type { WaveFacts } from "./gates/kind.ts";
import type { GateReading } from "./gates/registry.ts";
import type { Policy } from "./policy-contract.ts";
import type { DeployOutcome, RunKind, Stray, Target } from "./rules/outcome.ts";
import type { Batch, RolloutHead, RolloutTrace, SizedBatch, WaveProgress } from "./state.ts";
import type { Openings } from "./windows/calendar.ts";
import type { RolloutWindow } from "./windows/contract.ts";

export type StartRequest = {
  image: string;
  requestedImage: string;
  wavePercentages: number[];
  startedBy: string;
  /** The gateway has signed the name. */
  isSigned?: true;
  /** The accounts of the starter, as in `Actor`. */
  accounts?: string[];
  ciRun?: CiRun;
  gates?: NamedGate[];
  policy?: Policy;
  ci?: CiEvidence[];
  unchecked?: Policy;
  trace?: RolloutTrace;
};
export type RunHandle = { rolloutId: string; runner: string };
export type CallerRecord = { runner: string; caller: string };
/** `followedBy`: the run of a rollback that has begun by itself, because of `on_failure`. */
export type RunResult = RollbackResult & { followedBy?: string };
/** `drain`: invocations that may still deploy, waited for first. The others are for looks at windows and fleet. */
export type Run = OfFleet & {
  rolloutId: string;
  kind: RunKind;
  drain: string[];
  windowsEpoch: number;
  notBefore?: string;
  countsUnhealthy?: true;
};
/** `runner`: the run that wants it. */
export type CaptureRequest = OfFleet & { rolloutId: string; runner: string };
/** The image and waves for which the fleet is to be frozen; null: it is frozen, or no longer needs to be. */
export type CaptureTask =
  | ({ image: string; wavePercentages: number[]; policy: Policy } & Pick<RolloutHead, "unchecked">)
  | null;
/** `isStopped`: while it waited for batches, which may still run. `look`: what it read. `runner`: who asks. */
export type Advance = {
  rolloutId: string;
  runner: string;
  finishedWave?: number;
  isStopped?: true;
  look?: Readings;
};
/** Facts for the conditions, read at `atMs`; openings by the windows of `windowsEpoch`. null: not asked, unreadable. */
export type Readings = {
  atMs: number;
  gates: GateReading[];
  strays: Stray[] | null;
  windows: Openings | null;
  fleet: Unhealthy | null;
  windowsEpoch: number;
};
/** A reading of a rollout that has completed. */
export type CompletedLook = { rolloutId: string; look: Readings };
/** The sentinels of the fleet that are unhealthy: 1,000 at most by id, and how many `more`. */
export type Unhealthy = { ids: string[]; more: number };
/** `oneByOne`: one batch after the other. */
export type Instruction =
  | { action: "capture"; windowsEpoch: number }
  | {
      action: "run";
      waveIndex: number;
      batches: SizedBatch[];
      windowsEpoch: number;
      oneByOne?: true;
    }
  | WaitInstruction
  | { action: "stop"; status: RolloutStatus; followedBy?: string };
/** `gates`: those to be read, and what they are about; `soaks`: whether the sentinels are to be looked at. */
export type WaitInstruction = {
  action: "wait";
  image: string;
  finishedWave?: number;
  facts: WaveFacts;
  round: number;
  sleepMs: number;
  windowsEpoch: number;
  gates: DueGate[];
  soaks?: true;
};
/** `runner`: the run that asks. */
export type LaunchRequest = OfFleet & {
  rolloutId: string;
  runner: string;
  batch: number;
  kind: RunKind;
  parallel: number;
};
/** `idle`: all members of the batch have a result already. `stopped`: the rollout no longer runs. */
export type LaunchAnswer = { invocation: string } | "idle" | "stopped";
/** The input of one batch; `run`: the invocation that leads the rollout. */
export type BatchRun = LaunchRequest & {
  targets: Target[];
  run: string;
  hasBudget?: boolean;
  /** The number of further sentinels that may become unavailable; absent: there is no limit. */
  slots?: number;
  includeFailed?: boolean;
  /** The span that it is a part of; absent: the rollout is not traced. */
  trace?: Trace;
};
export type RecordRequest = {
  rolloutId: string;
  batch: number;
  kind: RunKind;
  invocation: string;
  includeFailed?: boolean;
  results: DeployOutcome[];
  inFlight: number;
  closed: boolean;
  /** True if the rest of the batch can't start because too many sentinels are unavailable. */
  isBlocked?: boolean;
};
/** The waves and the counts of a fleet whose batches are stored. */
export type Freeze = { rolloutId: string; waves: WaveProgress[]; inline: Partial<RolloutHead> };
/** An invocation that cannot continue, because another revision of the program has begun it. */
export type WedgedCall = {
  id: string;
  service: string;
  key: string | null;
  handler: string;
  /** The invocation that called it. */
  parent: string | null;
  revision: string | null;
  /** The input of its call; set when it is to be sent again. */
  input?: unknown;
};
export type ReleaseRequest = { revision: string; wedged: WedgedCall[] };
/** The invocations that cannot continue, the revisions that began them, and the one that runs now. */
export type VersionStop = { involved: string[]; from: string[]; to: string };
export type RunEnd = { rolloutId: string; runner: string; failure: string; cause: "run" | "fleet" };
/** Sentinels of this rollout that have taken its image and run another one by now. */
export type DriftStop = { rolloutId: string; ids: string[] };
/** A window was added; or `removed`, which an operator had to give a reason for. */
export type WindowsChange = {
  removed?: Pick<RolloutWindow, "id" | "kind"> & { by: string; reason: string };
};
/** The images that failed sentinels serve, by id. */
export type ServingRecord = { rolloutId: string; serving: [string, string][] };
/** `unlisted`: why the fleet could not be listed; null: it was, or did not need to be. */
export type CaptureResult = { unlisted: string } | null;

/** The virtual object, keyed by fleet. Exclusive handlers are short: long work is done by a run. */
export const rolloutObject = iface.object(
  rolloutServiceName,
  {
    Rollout: iface.shared.schemas({
      input: RolloutRequest,
      output: RolloutStatusSchema,
      description: "Starts a rollout and answers once it is completed, paused or cancelled.",
    }),
    Resume: iface.shared.schemas({
      input: ResumeRequest,
      output: RolloutStatusSchema,
      description: "Continues with the next wave after a failed one; answers like Rollout.",
    }),
    Pause: iface.schemas({
      input: EmptyRequest,
      output: RolloutStatusSchema,
      description: "Starts no more deploys; those in flight finish, and Resume continues.",
    }),
    Skip: iface.schemas({
      input: SkipRequest,
      output: RolloutStatusSchema,
      description: "Ends the soak, the gate or the window that the rollout waits for.",
    }),
    Approve: iface.schemas({
      input: ApproveRequest,
      output: RolloutStatusSchema,
      description:
        "Approves the wave that waits for an approval. Not by the operator who started it.",
    }),
    Cancel: iface.schemas({
      input: EmptyRequest,
      output: RolloutStatusSchema,
      description: "Starts no more deploys; those in flight finish and are recorded.",
    }),
    RollbackAll: iface.shared.schemas({
      input: RollbackRequest,
      output: RollbackResultSchema,
      description: "Restores the previous image on every sentinel that took the new one.",
    }),
    Status: iface.shared.schemas({
      input: EmptyRequest,
      output: RolloutStatusSchema,
      description: "The state and progress of the rollout.",
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
    begin: iface.json<StartRequest, RunHandle>(),
    startResume: iface.json<Actor & ResumeRequest, RunHandle | { status: RolloutStatus }>(),
    startRollback: iface.json<Actor & RollbackRequest, RunHandle>(),
    recordCaller: iface.json<CallerRecord, null>(),
    // Exclusive although it only reads: the run may begin before `begin` has ended.
    toCapture: iface.json<CaptureRequest, CaptureTask>(),
    storeBatches: iface.json<{ rolloutId: string; first: number; batches: Batch[] }, null>(),
    /** false: it was not taken. */
    freeze: iface.json<Freeze, boolean>(),
    advance: iface.json<Advance, Instruction>(),
    launchBatch: iface.json<LaunchRequest, LaunchAnswer>(),
    record: iface.json<RecordRequest, null>(),
    endRollback: iface.json<{ rolloutId: string }, RollbackResult>(),
    rollbackBatches: iface.json<{ rolloutId: string }, SizedBatch[]>(),
    runnerEnded: iface.json<RunEnd, RunResult>(),
    /** Without `runner`: for the current run. */
    repair: iface.json<{ runner?: string }, null>(),
    openInvocations: iface.shared.json<{ rolloutId: string }, string[]>(),
    forgetBatches: iface.json<{ rolloutId?: string; invocations: string[] }, null>(),
    stopForDrift: iface.json<DriftStop, null>(),
    stopForVersion: iface.json<VersionStop, null>(),
    windowsChanged: iface.json<WindowsChange, null>(),
    recordServing: iface.json<ServingRecord, null>(),
    toLook: iface.shared.json<Record<string, never>, WaitInstruction | null>(),
    recordLook: iface.json<CompletedLook, null>(),
  },
  {
    description:
      "Replaces the image of every sentinel of a fleet, wave by wave. The key is the fleet's name: `singleton`, and those of `[fleets]`.",
  },
);

/** Runs all waves of a rollout, or a whole rollback. */
export const rolloutRuns = iface.service("vedette.v1.RolloutRunner", {
  run: iface.json<Run, RunResult>(),
});

/** Deploys the members of one batch and records each result. */
export const rolloutBatch = iface.service("vedette.v1.RolloutBatch", {
  run: iface.json<BatchRun, { stopped: boolean }>(),
});

/** Lists the fleet and freezes it into batches. */
export const rolloutCapture = iface.service("vedette.v1.RolloutCapture", {
  run: iface.json<CaptureRequest, CaptureResult>(),
});

/** Detects that a run has ended without reporting it. */
export const rolloutWatch = iface.service("vedette.v1.RolloutWatch", {
  run: iface.json<OfFleet & { rolloutId: string; runner: string }, null>(),
  batches: iface.json<OfFleet & { rolloutId: string; invocations: string[] }, null>(),
  /** Lists the fleet once, after a pause. `ids`: sentinels that have failed. */
  paused: iface.json<OfFleet & { rolloutId: string; ids: string[] }, null>(),
});

/** Ends invocations of another version that block a rollout. */
export const rolloutRelease = iface.service("vedette.v1.RolloutRelease", {
  release: iface.json<ReleaseRequest, null>(),
});

/** The name of the reconciler as the starter of rollouts. */
export const reconciler = "reconciler";
