/**
 * Ends alerts that would otherwise never be resolved at their addressee: of checks that are no longer
 * defined, and, at a channel alone, of checks that have left it.
 */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { alertDelivery } from "#alerts/contract.ts";
import type { ApiCheck, Heartbeat } from "#monitor/contract.ts";
import { readQuiet } from "#monitor/operations/quiet-state.ts";
import { quietUntilMs } from "#monitor/rules/quiet.ts";
import { type AlertHistory, describeEvent, resolve } from "#monitor/rules/verdict.ts";
import {
  type Addressee,
  type ChannelChange,
  compareChannels,
  endReasonOf,
  queueKeyOf,
  withoutTargets,
} from "./addressee.ts";
import {
  readAddressee,
  record,
  type StateEntry,
  sendEvent,
  sendToAll,
  writeAddressee,
} from "./hand-over.ts";

/** Access to the state of the check, and to its snapshot. */
type CheckAccess<State> = {
  /** null: the check has no state yet. */
  read: () => Promise<State | null>;
  write: (state: State) => void;
  toEntry: (takenAtMs: number) => Promise<StateEntry>;
};

/**
 * Has an open alert follow the channels of its check: those that left get the recovery, those that joined
 * the failure, and the episode goes on. It ends if nobody is left. Call it before any other change of the check.
 */
export async function followChannels<State extends AlertHistory>(
  ctx: ObjectContext,
  check: ApiCheck | Heartbeat,
  access: CheckAccess<State>,
): Promise<void> {
  const before = await readAddressee(ctx);
  if (before === null) return;
  const endedBecause = await ctx.run("compare-channel", async () => endReasonOf(before, check));
  if (endedBecause !== null) return endAlert(ctx, endedBecause, access);
  const change = await findChange(ctx, before, check);
  if (change === null) return;
  await notifyOfChange(ctx, { before, change }, access);
  writeAddressee(ctx, change.addressee);
  // An event that waits for a wrong address need not wait for minutes once it is corrected.
  for (const target of change.corrected) {
    ctx.sendClient(alertDelivery, queueKeyOf(ctx.key, target)).goOn({});
  }
}

/** While the check is quiet it joins nothing: no new failure is told. It does so at the first step after that. */
async function findChange(
  ctx: ObjectContext,
  before: Addressee,
  check: ApiCheck | Heartbeat,
): Promise<ChannelChange | null> {
  const change = compareChannels(ctx.key, before, check);
  if (change === null || change.joined.length === 0) return change;
  const isQuiet = quietUntilMs(await readQuiet(ctx), await ctx.date.now()) !== null;
  return isQuiet ? compareChannels(ctx.key, before, withoutTargets(check, change.joined)) : change;
}

async function notifyOfChange<State extends AlertHistory>(
  ctx: ObjectContext,
  { before, change }: { before: Addressee; change: ChannelChange },
  { read }: CheckAccess<State>,
): Promise<void> {
  const { left, joined, addressee } = change;
  const state = await read();
  if (state === null || state.alert === null || left.length + joined.length === 0) return;
  const atMs = await ctx.date.now();
  const endedBecause = "the check no longer notifies this channel";
  const ending = { checkId: ctx.key, atMs, missedPings: null, endedBecause };
  const { transition } = resolve(state, ending);
  // Recoveries first: at the incident service the failure may go to the queue of the recovery.
  if (transition !== null) {
    const ended = { ...transition, isOfChannel: true as const };
    for (const target of left) sendEvent(ctx, { id: ctx.key, ...before, target }, ended);
  }
  const opened = { ...describeEvent("opened", ctx.key, state.alert), atMs };
  for (const target of joined) sendEvent(ctx, { id: ctx.key, ...addressee, target }, opened);
}

/** Sends the recovery to the addressee of the failure. Commits state, event and records together. */
export async function endAlert<State extends AlertHistory>(
  ctx: ObjectContext,
  endedBecause: string,
  { read, write, toEntry }: CheckAccess<State>,
): Promise<void> {
  const before = await read();
  if (before === null || before.alert === null) return;
  const atMs = await ctx.date.now();
  const ending = { checkId: ctx.key, atMs, missedPings: null, endedBecause };
  const { state, transition } = resolve(before, ending);
  write(state);
  if (transition === null) return;
  const addressee = await readAddressee(ctx);
  if (addressee !== null) sendToAll(ctx, { id: ctx.key, ...addressee }, transition);
  record(ctx, ctx.key, { transition, ...(await toEntry(atMs)) });
}

export const removed = "the check was removed";
