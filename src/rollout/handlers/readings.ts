/** Records in the head what was read of the rollout's sentinels and gates. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { toIso } from "#kernel/time.ts";
import { type GateReading, withGateReadings } from "#rollout/gates/registry.ts";
import type { Readings } from "#rollout/internal.ts";
import { type Stray, withFailures } from "#rollout/rules/outcome.ts";
import { batchesOf } from "#rollout/rules/plan.ts";
import { applyStep, withServing } from "#rollout/rules/progress.ts";
import type { Batch, Outcome, RolloutHead } from "#rollout/state.ts";
import { changeOutcomes } from "./change-outcomes.ts";

/** The head with what was read: of its gates, and sentinels that went astray. A write of the head must follow. */
export async function withReadings(
  ctx: ObjectContext,
  head: RolloutHead,
  look: Readings | undefined,
): Promise<RolloutHead> {
  if (look === undefined) return head;
  const { gates: readings, strays, atMs } = look;
  const { gateStatus, gates = [] } = head;
  const read = gateStatus && withGateReadings(gateStatus, gates, { readings, atMs });
  const checked =
    read === undefined ? head : { ...head, gateStatus: read, ...newLedgers(head, readings) };
  return strays === null ? checked : withStrays(ctx, checked, { strays, atMs });
}

function newLedgers({ ledgers = {} }: RolloutHead, readings: readonly GateReading[]) {
  const found = readings.flatMap(({ name, found: one }) =>
    one !== null && "ledger" in one && one.ledger !== undefined
      ? [[name, one.ledger] as const]
      : [],
  );
  return found.length > 0 && { ledgers: { ...ledgers, ...Object.fromEntries(found) } };
}

/** Counts only what two looks in a row found: a health check may fail once. A write of the head must follow. */
async function withStrays(
  ctx: ObjectContext,
  head: RolloutHead,
  { strays, atMs }: { strays: readonly Stray[]; atMs: number },
): Promise<RolloutHead> {
  if (head.wait === undefined) return head;
  const before = new Set(head.wait.suspects);
  const confirmed = strays.filter(({ id }) => before.has(id));
  const { suspects: _, ...wait } = head.wait;
  const suspects = strays.map(({ id }) => id);
  const lookedAt = toIso(atMs);
  const looked = { ...wait, lookedAt, ...(suspects.length > 0 && { suspects }) };
  const next = { ...head, wait: looked };
  return confirmed.length === 0 ? next : failConfirmed(ctx, next, confirmed);
}

function failConfirmed(
  ctx: ObjectContext,
  head: RolloutHead,
  confirmed: readonly Stray[],
): Promise<RolloutHead> {
  const batches = head.waves.slice(0, head.currentWave).flatMap(batchesOf);
  const decide = (batch: Batch, before: Outcome) => {
    const decided = withFailures(batch, before, confirmed);
    return decided.changes.length === 0 ? null : decided;
  };
  const served = confirmed.flatMap(({ id, serves }): [string, string][] =>
    serves === undefined ? [] : [[id, serves]],
  );
  return changeOutcomes(ctx, withServing(head, served), { batches, decide, apply: applyStep });
}
