/** The last steps of every handler that changes the state of a check: send alert events and records. */
import type { Context, ObjectContext } from "@restatedev/restate-sdk";
import {
  type AlertTransition,
  alertDelivery,
  formatEventId,
  type RolloutMark,
} from "#alerts/contract.ts";
import { inTime } from "#kernel/async.ts";
import type { ApiCheck, CheckSnapshot, Heartbeat } from "#monitor/contract.ts";
import { checkRecords, type Entry } from "#monitor/internal.ts";
import { type CheckRecorder, writeEntry } from "#monitor/records.ts";
import type { Suppression } from "#monitor/related.ts";
import { spansOfChange } from "#monitor/rules/suppression.ts";
import type { Decision } from "#monitor/rules/verdict.ts";
import { type Addressee, queueKeyOf, type Target, targetsOf } from "./addressee.ts";

/** A database that is down must not delay an alert or the next run of a check for longer. */
const databaseTimeoutMs = 2_000;

type AlertingCheck = Addressee & Pick<ApiCheck | Heartbeat, "id">;

const addresseeKey = "addressee";

/** null: no alert is open. */
export const readAddressee = (ctx: ObjectContext) => ctx.get<Addressee>(addresseeKey);

export function writeAddressee(ctx: ObjectContext, addressee: Addressee): void {
  const { environment, channel, name, directChannels = [], joinings = {} } = addressee;
  const isJoined = Object.keys(joinings).length > 0;
  const base = { environment, channel, name, directChannels };
  ctx.set(addresseeKey, isJoined ? { ...base, joinings } : base);
}

/**
 * Sends the event of a transition. Call it in the handler that changes the state: Restate commits both or
 * none, so that each transition makes exactly one event.
 */
export async function sendToChannels(
  ctx: ObjectContext,
  check: AlertingCheck,
  transition: AlertTransition,
): Promise<void> {
  if (transition.kind === "opened") return sendToAll(ctx, check, transition);
  // The channels of the check, but for those that it has yet to join.
  const { channel, directChannels, joinings } = (await readAddressee(ctx)) ?? check;
  sendToAll(ctx, { ...check, channel, directChannels, joinings: joinings ?? {} }, transition);
}

/** Does the same as `sendToChannels`, for a known addressee. */
export function sendToAll(
  ctx: ObjectContext,
  check: AlertingCheck,
  transition: AlertTransition,
): void {
  if (transition.kind === "opened") writeAddressee(ctx, check);
  else ctx.clear(addresseeKey);
  for (const target of targetsOf(check)) sendEvent(ctx, { ...check, target }, transition);
}

/** Sends the event of a transition to one channel. */
export function sendEvent(
  ctx: ObjectContext,
  { id, name, environment, joinings = {}, target }: AlertingCheck & { target: Target },
  transition: AlertTransition,
): void {
  const queue = queueKeyOf(id, target);
  const { episode, kind } = transition;
  const eventId = formatEventId({ queue, episode, joining: joinings[queue] ?? 0, kind });
  const where = typeof target === "string" ? { channel: target } : { channel: null, target };
  const order = { transition: { ...transition, eventId }, environment, ...where, name };
  ctx.sendClient(alertDelivery, queue).enqueue(order);
}

export function record(ctx: ObjectContext, checkId: string, entry: Entry): void {
  ctx.sendClient(checkRecords, checkId).write(entry);
}

const recordedKey = "told-suppression";

/** Returns the snapshot, and the suppressions that started or ended since the last one. */
export async function toEntry(ctx: ObjectContext, snapshot: CheckSnapshot): Promise<StateEntry> {
  const last = await ctx.get<Suppression>(recordedKey);
  const now = snapshot.suppressed;
  const suppressions = spansOfChange({ last, now }, snapshot.takenAtMs);
  if (suppressions.length === 0) return { snapshot };
  if (now === null) ctx.clear(recordedKey);
  else ctx.set(recordedKey, now);
  return { snapshot, suppressions };
}

export type StateEntry = Pick<Entry, "suppressions"> & { snapshot: CheckSnapshot };

const takenKey = "taken";

/**
 * The time of a new snapshot, always later than that of the last one. After the clock was set back, the
 * database would otherwise drop the new snapshot as older, and readers would show the last one.
 */
export async function nextTakenAtMs(ctx: ObjectContext, atMs: number): Promise<number> {
  const takenAtMs = Math.max(atMs, ((await ctx.get<number>(takenKey)) ?? 0) + 1);
  ctx.set(takenKey, takenAtMs);
  return takenAtMs;
}

/**
 * Writes an entry without a transition directly, which saves a call for every run of every check. If the
 * database does not answer in time, sends the entry to `CheckRecords`.
 */
export async function recordAtOnce(
  ctx: ObjectContext,
  recorder: CheckRecorder,
  checkId: string,
  entry: Entry,
): Promise<void> {
  const write = async () => (await writeEntry(recorder, checkId, entry)).length === 0;
  const isWritten = await ctx.run("write-down", () =>
    inTime(write, { limitMs: databaseTimeoutMs, otherwise: false }),
  );
  if (!isWritten) record(ctx, checkId, entry);
}

/** The rollout in progress; null: none. */
type ReadRollout = () => Promise<RolloutMark | null>;

/** Decides, and adds the rollout in progress to an alert that opens; reads it only then. */
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
    inTime(readRollout, { limitMs: databaseTimeoutMs, otherwise: null }),
  );
}
