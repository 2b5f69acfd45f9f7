import { iface } from "@restatedev/restate-sdk";
import type { Notice } from "#alerts/contract.ts";
import type { CiEvidence } from "#ci/contract.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { type AuditRecord, actorOf } from "#kernel/audit.ts";
import type { PauseCause, RolloutStatus } from "#rollout/contract.ts";
import type { GateStatus, NamedGate } from "#rollout/gates/contract.ts";
import type { Policy } from "#rollout/policy-contract.ts";
import type { RolloutEvent } from "#rollout/rules/messages.ts";
import { type OutcomeChange, previousImageOf } from "#rollout/rules/outcome.ts";
import type { Batch, RolloutHead } from "#rollout/state.ts";
import type { RecordedWave } from "./contract.ts";

/** Writes history, one object per rollout id, so that writes keep their order. */
export const rolloutHistory = iface.object("vedette.v1.RolloutHistory", {
  save: iface.json<HistoryEntry, null>(),
  plan: iface.json<{ batches: PlannedBatch[] }, null>(),
  leaveOut: iface.json<LeftOutEntry, null>(),
  outcomes: iface.json<OutcomesEntry, null>(),
});

/** Members of a wave, which is from 1, and the image of each before the rollout. */
export type PlannedBatch = { wave: number; ids: string[]; previousImages: string[] };

/** Sentinels that are in no wave, because of a pin or the request. */
export type LeftOutEntry = { reason: string; ids: string[] };

/**
 * Results, with the rollout's totals including them; without totals history counts them itself. `batch`: theirs, since
 * its plan may be still on its way, or was killed.
 */
export type OutcomesEntry = {
  changes: OutcomeChange[];
  batch?: Batch;
  atMs: number;
  isLate: boolean;
  totals?: Pick<RolloutHead, "sequence" | "updatedAt" | "succeeded" | "failed" | "reverted">;
};

/** A transition with the message about it; `by`: the operator who caused it, if one did. */
type TransitionMessage = { event: RolloutEvent; message: Notice; by?: string };

type HistoryView = {
  cause?: PauseCause;
  outcome: RolloutStatus["outcome"];
  waitingFor: RolloutStatus["waiting_for"];
  until?: string;
  policy: Policy;
  waves: Omit<RecordedWave, "wave">[];
  leftOut: number;
  /** Absent: none is closed now; the last one stays. */
  gate?: GateStatus;
  /** As they were asked for; absent: none were. */
  gates?: NamedGate[];
  /** Absent: it is not frozen yet. */
  fleetSize?: number;
  ci?: CiEvidence[];
  approved?: RolloutStatus["approved"];
};

/** A row of the table `rollouts`, and one of `rollout_messages`; `toldAt`: the sequence of the latter. */
export type HistoryEntry = { told: TransitionMessage; toldAt: number; shown: HistoryView } & Pick<
  RolloutHead,
  | "fleet"
  | "image"
  | "requestedImage"
  | "wavePercentages"
  | "state"
  | "reason"
  | "startedBy"
  | "accounts"
  | "ciRun"
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

/** True if nothing follows by itself. */
export function isEnd({ state }: HistoryEntry): boolean {
  return state === "completed" || state === "cancelled";
}

/** A batch as history keeps it. Pure. */
export function toPlanned(batch: Batch): PlannedBatch {
  const previousImages = batch.ids.map((_, i) => previousImageOf(batch, i));
  return { wave: batch.wave + 1, ids: batch.ids, previousImages };
}

/** A step that writes it is repeated until it succeeds: the transition's sequence makes it one row. */
export function toAudit(rolloutId: string, entry: HistoryEntry): AuditRecord {
  const { told, toldAt, updatedAt: at, fleet = defaultFleet, image, state, reason, ciRun } = entry;
  const { event, by } = told;
  return {
    event: `rollout.${event.replace(/^rollout /, "").replaceAll(" ", "_")}`,
    description: `Rollout ${rolloutId} of ${image} to ${fleet}: ${event}${reason === undefined ? "" : ` (${reason})`}`,
    actor: actorOf(by),
    targets: [
      { type: "rollout", id: rolloutId },
      { type: "fleet", id: fleet },
    ],
    atMs: Date.parse(at),
    meta: { image, state, ci_run: ciRun, wave: entry.currentWave, cause: entry.shown.cause },
    order: toldAt,
    key: `rollout:${rolloutId}:${toldAt}`,
  };
}
