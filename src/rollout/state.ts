/** The durable state of the rollout object: every key, its type, and how it is read and written. */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { CiEvidence } from "#ci/contract.ts";
import type { CiRun } from "#kernel/roles.ts";
import type { Span, Trace } from "#kernel/tracing.ts";
import type { Ledger } from "./comparison/contract.ts";
import type { PauseCause, RolloutStateName, SentinelReason } from "./contract.ts";
import type { NamedGate, WaveGates } from "./gates/contract.ts";
import type { Policy, WaitReason } from "./policy-contract.ts";

/** Up to this many sentinels `rolloutState` itself has the lists of ids, for people to read. */
export const inlineListLimit = 1_000;

/** Sentinels per batch: one invocation, one `batch:n` key, one `outcome:n` key. */
export const batchSize = 250;

/** The number of reasons in the head; the outcomes of the batches have all of them. */
export const reasonSampleLimit = 100;

export type WaveProgress = {
  percentage: number;
  size: number;
  /** Batches are numbered over the whole rollout; a wave has `batches` of them from here on. */
  firstBatch: number;
  batches: number;
  succeeded: number;
  failed: number;
  /** Members that a pin has held back; absent: none. */
  leftOut?: number;
  /** Failures from before the last Resume, which do not pause the rollout again. */
  passedOver: number;
  /** Failures of the fleet's API, not of the image; and those of them from before the last Resume. */
  fleetFailed?: number;
  fleetPassedOver?: number;
  /** The first start of the wave, and the time when all of its members had a result. ISO 8601. */
  startedAt?: string;
  endedAt?: string;
};

/** The number of members of a batch by mark of their outcome; `ofFleet`: failures of the fleet's API. */
export type Tally = Record<"s" | "f" | "r" | "n" | "x" | "ofFleet", number>;

/** `include_failed`: whether an automatic rollback takes failed sentinels, too. */
export type HeadPolicy = Policy & { include_failed?: boolean };

/** Between two waves, and before the first. Times are ISO 8601. */
export type WaveWait = {
  /** The index of the wave that has ended; absent: none has begun. */
  ended?: number;
  since: string;
  /** Increases with each look at the conditions: numbers the signal that ends the run's sleep. */
  round: number;
  soakUntil?: string;
  waitingFor?: WaitReason;
  reason?: string;
  until?: string;
  /** Sentinels that did not run the image, or were unhealthy, at the last look of the soak. */
  suspects?: string[];
  /** The time at which the fleet was last polled. */
  lookedAt?: string;
  /** The time at which an operator resumed the rollout in this wait. */
  resumedAt?: string;
  /** True if an operator has ended the wait for a window, for what starts next. */
  skipsWindows?: true;
  /** True if it waits for the start that the request asks for. */
  isForStart?: true;
  /** True if it waits for somebody who confirms a gate. */
  asksPeople?: true;
};

/** `run`: the run that launched it, perhaps not the current one. */
type OpenBatch = { invocation: string; inFlight: number; run: string };

/** Unhealthy at the wave's start, or failed in it; `more`: not named. `isFull`: none of the others may be deployed. */
export type Unavailable = { ids: string[]; more: number; isFull?: true };

/** `wave` is from 1, `at` ISO 8601. */
export type Approval = { wave: number; by: string; at: string; reason?: string };

/** Its name, and its start in Unix ms. */
export type OpenSpan = { trace: Trace; name: string; startMs: number };

/** Kept with a rollout that is traced. `parent`: of its caller, for its first run, below which are the later ones. */
export type RolloutTrace = {
  trace: Trace;
  parent?: Trace;
  /** The run, while it runs; and the wave that it is in. */
  run?: OpenSpan;
  wave?: OpenSpan;
  /** Spans that have ended, and are sent with the next ones. */
  held?: Span[];
};

/** Key `rolloutState`. Ids and images for up to `inlineListLimit`; `batch:n` and `outcome:n` for any size. */
export type RolloutHead = {
  state: Exclude<RolloutStateName, "idle">;
  rolloutId: string;
  /** Absent: the default fleet. */
  fleet?: string;
  image: string;
  requestedImage: string;
  wavePercentages: number[];
  /** Absent: there are none. */
  gates?: NamedGate[];
  /** The state of the gates, from the end of a wave until the next one starts. */
  gateStatus?: WaveGates;
  /** The evidence so far of gates that compare, by name: of all waves together. */
  ledgers?: Record<string, Ledger>;
  /** The rules for failures and soaks, from the request and the settings. */
  policy: HeadPolicy;
  /** The evidence at the start that the image has passed CI; absent: the settings require none. */
  ci?: CiEvidence[];
  /** From the end of a wave until the next thing starts. */
  wait?: WaveWait;
  /** The number of waves that have ended and were evaluated. */
  endedWaves: number;
  /** Set while it is watched after its completion, and until the rollback that follows a fault has begun. ISO 8601. */
  watchUntil?: string;
  /** A rollout before it, whose fault after the completion nobody has replaced yet by another image. */
  fault?: string;
  /** Set when it is paused, or a fault is found after its completion, until the rollback that follows by `on_failure` has begun. */
  rollbackDue?: true;
  /** The run of the rollback that followed by `on_failure`. */
  automaticRollback?: string;
  /** True if the last rollback takes failed sentinels, too. */
  includeFailed?: boolean;
  /** The state in which the last rollback began. */
  rolledBackFrom?: "paused" | "cancelled";
  /** The waves that operators have approved; absent: none. */
  approved?: Approval[];
  /** True if an operator has ended the wait for the requested start. */
  startsEarly?: true;
  startedBy: string;
  /** The starter's accounts at the identity provider; absent: none is known. */
  accounts?: string[];
  /** The job of CI that has started it; absent: none has. */
  ciRun?: CiRun;
  /** Its spans; absent: it is not traced. */
  trace?: RolloutTrace;
  startedAt: string;
  updatedAt: string;
  reason?: string;
  cause?: PauseCause;
  /** Sentinels because of which it has paused with the cause `drift`: they do not pause it again. */
  drifted?: string[];
  /** Set while it is paused because an operator has asked for it. */
  paused?: { by: string; at: string };
  /** Increases with every write to history: numbers the messages, and orders those writes. */
  sequence: number;
  /** The invocation of the current run, or of the last one. */
  runner: string;
  /** The invocation that waits for a run, perhaps for an earlier one. */
  caller?: { runner: string; invocation: string };
  /** Batches that its run waits for first, by the rollout that left them in flight; kept until they have ended. */
  drain?: Record<string, string[]>;
  /** True once the fleet is frozen into batches. */
  captured: boolean;
  currentWave: number;
  totalWaves: number;
  total: number;
  waves: WaveProgress[];
  succeeded: number;
  failed: number;
  reverted: number;
  revertedByLastRollback: number;
  /** The number of reverted sentinels when the last rollback began; absent: there was none. */
  revertedBefore?: number;
  /** The part of each batch in the counts above and in those of its wave, by batch number. */
  tallies: Record<string, Tally>;
  failedSample: SentinelReason[];
  notReverted: SentinelReason[];
  /** Batches whose deploys may be in flight, by batch number. */
  openBatches: Record<string, OpenBatch>;
  /** The number of deploys that had been ordered and had no result when the last run stopped. */
  orderedAtStop?: number;
  /** The run whose orders are stopped. */
  stoppedRun?: string;
  /** The size of the fleet when it was frozen, and the number of sentinels that pins and the request left out. */
  fleetSize?: number;
  leftOut?: number;
  /** The choice of the request, if the fleet could not be listed at the start: to be checked when it is frozen. */
  unchecked?: Policy;
  /** The image of all of its sentinels before; absent: they had several. */
  previousImage?: string;
  /** By id, of failed sentinels, 1,000 at most: the image that each serves all the same, "" for none. */
  serving?: Record<string, string>;
  /** With `max_unavailable`, since the current wave started. */
  unavailable?: Unavailable;
  succeededIds?: string[];
  failedIds?: string[];
  previousImages?: Record<string, string>;
};

/** Key `batch:n`: the batch's members, frozen when the rollout starts. Images are dictionary-coded. */
export type Batch = { wave: number; ids: string[]; images: string[]; imageOf: number[] };

/**
 * Key `outcome:n`: one mark per member of batch n. `.` no result, `s` succeeded, `f` failed,
 * `r` reverted, `n` not reverted, `x` left out because of a pin. `open` while an invocation may be deploying its
 * members; `lost` once one was killed: members without a result may have got the image all the same.
 */
export type Outcome = {
  marks: string;
  reasons: Record<string, string>;
  /** Ids whose deploy failed because of the fleet's API. */
  ofFleet: string[];
  open: boolean;
  lost?: boolean;
  /** Ids that took the image and failed afterwards, in a soak: a rollback takes them, whatever their mark. */
  astray?: string[];
  /** By index: the number of deploys of a member that have failed, if another one follows or may; absent: none. */
  tries?: Record<number, number>;
};

type Reader = Pick<ObjectSharedContext, "get">;
type Writer = Pick<ObjectContext, "set" | "clear">;

export const readHead = (ctx: Reader) => ctx.get<RolloutHead>("rolloutState");
export const writeHead = (ctx: Writer, head: RolloutHead) => ctx.set("rolloutState", head);

export const readBatch = (ctx: Reader, n: number) => ctx.get<Batch>(`batch:${n}`);

/** Writes a new batch, and deletes an outcome that an earlier rollout may have left under its number. */
export function startBatch(ctx: Writer, n: number, batch: Batch): void {
  ctx.clear(`outcome:${n}`);
  ctx.set(`batch:${n}`, batch);
}

export const readOutcome = (ctx: Reader, n: number) => ctx.get<Outcome>(`outcome:${n}`);
export const writeOutcome = (ctx: Writer, n: number, outcome: Outcome) =>
  ctx.set(`outcome:${n}`, outcome);

/** Deletes the batches of the rollout before this one. */
export function clearBatches(ctx: Writer, head: RolloutHead): void {
  const count = head.waves.reduce((sum, wave) => sum + wave.batches, 0);
  for (let n = 0; n < count; n++) {
    ctx.clear(`batch:${n}`);
    ctx.clear(`outcome:${n}`);
  }
}

/** The time at which the repair timer was last set, and the run it was set for. Key `repair`. */
export type RepairMark = { runner: string; atMs: number };
export const readRepair = (ctx: Reader) => ctx.get<RepairMark>("repair");
export const writeRepair = (ctx: Writer, mark: RepairMark) => ctx.set("repair", mark);

/** The number of changes of the windows so far. Key `windowsEpoch`. */
export const readWindowsEpoch = async (ctx: Reader) => (await ctx.get<number>("windowsEpoch")) ?? 0;
export const writeWindowsEpoch = (ctx: Writer, epoch: number) => ctx.set("windowsEpoch", epoch);

/** A batch by its number, with the number of its members. */
export type SizedBatch = { batch: number; size: number };
