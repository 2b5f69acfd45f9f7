/** The end of every handler that may change what is known of a check: alerts out, records on their way. */
import type { Context, ObjectContext } from "@restatedev/restate-sdk";
import {
  type AlertOrder,
  type AlertTransition,
  alertDelivery,
  type Environment,
  type RolloutMark,
} from "#alerts/contract.ts";
import { isAhead } from "#kernel/clock-fault.ts";
import { inTime } from "#kernel/in-time.ts";
import type { ApiCheck, Heartbeat } from "#monitor/contract.ts";
import { checkRecords, type Entry } from "#monitor/internal.ts";
import { writeEntry } from "#monitor/records/entry.ts";
import type { CheckRecorder } from "#monitor/records/recorder.ts";
import type { Decision } from "#monitor/rules/verdict.ts";

/** An alert does not wait for a database that is away, nor does the next run of a check. */
const databaseLimitMs = 2_000;

type AlertingCheck = Pick<ApiCheck | Heartbeat, "id" | "name" | "environment" | "channel">;

/** Who was told of the alert that is open; `channel`: null: nobody is paged. */
export type Addressee = Pick<AlertOrder, "name" | "environment"> & {
  channel: Environment | null;
};

const addresseeKey = "addressee";

/** null: none is open, or it opened before this was noted. */
export const readAddressee = (ctx: ObjectContext) => ctx.get<Addressee>(addresseeKey);

/**
 * Sent in the handler that changes the state: Restate commits both or none, which is what makes
 * exactly one event of each transition.
 */
export function handOver(
  ctx: ObjectContext,
  check: AlertingCheck,
  transition: AlertTransition,
): void {
  const { environment, channel, name } = check;
  if (transition.kind === "opened") ctx.set(addresseeKey, { environment, channel, name });
  else ctx.clear(addresseeKey);
  if (channel === null) return;
  const order = { transition, environment, channel, name };
  ctx.sendClient(alertDelivery, check.id).enqueue(order);
}

export function writeDown(ctx: ObjectContext, checkId: string, entry: Entry): void {
  ctx.sendClient(checkRecords, checkId).write(entry);
}

const takenKey = "taken";

/**
 * When a snapshot is taken: later than the one before, whatever clock says so. Else one that an earlier clock
 * has told of would be dropped, and what it replaces shown until something else happens.
 */
export async function nextTakenAtMs(ctx: ObjectContext, atMs: number): Promise<number> {
  const takenAtMs = takenAfter((await ctx.get<number>(takenKey)) ?? 0, atMs);
  ctx.set(takenKey, takenAtMs);
  return takenAtMs;
}

/** The database, by its own clock, says of one that is far ahead that whatever follows counts. */
export function takenAfter(lastMs: number, atMs: number): number {
  return isAhead(lastMs, atMs + clocksDifferMs) ? atMs : Math.max(atMs, lastMs + 1);
}

const clocksDifferMs = 60_000;

/**
 * At once, for what alerts nobody: a call less for every run of every check. What the database does not
 * take soon is left to `CheckRecords`.
 */
export async function writeAtOnce(
  ctx: ObjectContext,
  recorder: CheckRecorder,
  checkId: string,
  entry: Entry,
): Promise<void> {
  const write = async () => (await writeEntry(recorder, checkId, entry)).length === 0;
  const isWritten = await ctx.run("write-down", () =>
    inTime(write, { limitMs: databaseLimitMs, otherwise: false }),
  );
  if (!isWritten) writeDown(ctx, checkId, entry);
}

/** The rollout that is under way; null: none. */
type ReadRollout = () => Promise<RolloutMark | null>;

/** An alert that opens names the rollout under way; only then is it asked for. */
export async function withRollout<State>(
  ctx: ObjectContext,
  readRollout: ReadRollout,
  decide: (rollout: RolloutMark | null) => Decision<State>,
): Promise<Decision<State>> {
  const decision = decide(null);
  if (decision.transition?.kind !== "opened") return decision;
  const rollout = await findRollout(ctx, readRollout);
  return rollout === null ? decision : decide(rollout);
}

export async function findRollout(
  ctx: Context,
  readRollout: ReadRollout,
): Promise<RolloutMark | null> {
  return ctx.run("read-rollout", () =>
    inTime(readRollout, { limitMs: databaseLimitMs, otherwise: null }),
  );
}
