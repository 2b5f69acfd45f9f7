/**
 * Ends alerts that would otherwise never be resolved at their addressee: of checks that are no longer
 * defined, and of checks whose channel has changed (to none, to another one, or from none to one).
 */
import { isDeepStrictEqual } from "node:util";
import type { ObjectContext } from "@restatedev/restate-sdk";
import { alertDelivery, directQueueKey } from "#alerts/contract.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import type { ApiCheck, CheckSnapshot, Heartbeat } from "#monitor/contract.ts";
import { hasChannels } from "#monitor/related.ts";
import { type AlertHistory, describeEvent, resolve } from "#monitor/rules/verdict.ts";
import {
  type Addressee,
  handOver,
  readAddressee,
  tellDirectly,
  writeAddressee,
  writeDown,
} from "#monitor/transitions/hand-over.ts";

/** Access to the state of the check, and to its snapshot. */
type CheckAccess<State> = {
  /** null: the check has no state yet. */
  read: () => Promise<State | null>;
  write: (state: State) => void;
  show: (takenAtMs: number) => Promise<CheckSnapshot>;
};

type CheckChannels = Pick<ApiCheck | Heartbeat, "channel" | "directChannels">;

/** Why to end the open alert although the check did not recover; null: do not end it. */
export function endReasonOf({ channel }: Addressee, check: CheckChannels): string | null {
  if (check.channel === channel) return null;
  if (check.channel === null && !hasChannels(check)) return "the check pages nobody now";
  return channel === null ? "the check pages a channel now" : "the check pages another channel";
}

/**
 * Ends the open alert if the channel of the check has changed. Call it before any other change of the
 * check: if it still fails, its next run opens an alert at the new channel.
 */
export async function leaveOldChannel<State extends AlertHistory>(
  ctx: ObjectContext,
  check: CheckChannels,
  access: CheckAccess<State>,
): Promise<void> {
  const addressee = await readAddressee(ctx);
  if (addressee === null) return;
  // Journaled: journals of an earlier version have it, which did not hold the definition.
  const endedBecause = await ctx.run("compare-channel", async () => endReasonOf(addressee, check));
  if (endedBecause !== null) return endAlert(ctx, endedBecause, access);
  const { left, joined, corrected } = compareDirect(addressee, check);
  if (left.length + joined.length > 0) await tellOfChange(ctx, { addressee, left, joined }, access);
  if (isDeepStrictEqual(addressee.directChannels ?? [], check.directChannels ?? [])) return;
  writeAddressee(ctx, { ...addressee, directChannels: check.directChannels });
  // What waits for a wrong address need not wait for minutes once it is corrected.
  for (const { id } of corrected) {
    ctx.sendClient(alertDelivery, directQueueKey(ctx.key, id)).goOn({});
  }
}

function compareDirect(
  { directChannels: before = [] }: Addressee,
  { directChannels: after = [] }: CheckChannels,
) {
  const isIn = (rows: readonly DirectChannel[]) => (row: DirectChannel) =>
    rows.some(({ id }) => id === row.id);
  const isSame = (row: DirectChannel) => before.some((old) => isDeepStrictEqual(old, row));
  return {
    left: before.filter((row) => !isIn(after)(row)),
    joined: after.filter((row) => !isIn(before)(row)),
    corrected: after.filter((row) => isIn(before)(row) && !isSame(row)),
  };
}

type ChannelChange = { addressee: Addressee; left: DirectChannel[]; joined: DirectChannel[] };

/** Channels that left get the recovery, those that joined the failure; the episode goes on. */
async function tellOfChange<State extends AlertHistory>(
  ctx: ObjectContext,
  { addressee, left, joined }: ChannelChange,
  { read }: CheckAccess<State>,
): Promise<void> {
  const state = await read();
  if (state === null || state.alert === null) return;
  const check = { id: ctx.key, ...addressee };
  const opened = describeEvent("opened", ctx.key, state.alert);
  for (const target of joined) {
    tellDirectly(ctx, { ...check, target }, { ...opened, atMs: opened.openedAtMs });
  }
  if (left.length === 0) return;
  const ending = {
    checkId: ctx.key,
    atMs: await ctx.date.now(),
    missedPings: null,
    endedBecause: "the check no longer notifies this channel",
  };
  const { transition } = resolve(state, ending);
  if (transition === null) return;
  const ended = { ...transition, isOfChannel: true as const };
  for (const target of left) tellDirectly(ctx, { ...check, target }, ended);
}

/** Sends the recovery to the addressee of the failure. Commits state, event and records together. */
export async function endAlert<State extends AlertHistory>(
  ctx: ObjectContext,
  endedBecause: string,
  { read, write, show }: CheckAccess<State>,
): Promise<void> {
  const before = await read();
  if (before === null || before.alert === null) return;
  const atMs = await ctx.date.now();
  const ending = { checkId: ctx.key, atMs, missedPings: null, endedBecause };
  const { state, transition } = resolve(before, ending);
  write(state);
  if (transition === null) return;
  const addressee = await readAddressee(ctx);
  if (addressee !== null) handOver(ctx, { id: ctx.key, ...addressee }, transition);
  writeDown(ctx, ctx.key, { transition, snapshot: await show(atMs) });
}

export const removed = "the check was removed";
