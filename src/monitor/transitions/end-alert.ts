/**
 * Ends alerts that would otherwise never be resolved at their addressee: of checks that are no longer
 * defined, and of checks whose channel has changed (to none, to another one, or from none to one).
 */
import type { ObjectContext } from "@restatedev/restate-sdk";
import type { ApiCheck, CheckSnapshot, Heartbeat } from "#monitor/contract.ts";
import { type AlertHistory, resolve } from "#monitor/rules/verdict.ts";
import {
  type Addressee,
  handOver,
  readAddressee,
  writeDown,
} from "#monitor/transitions/hand-over.ts";

/** Access to the state of the check, and to its snapshot. */
type CheckAccess<State> = {
  /** null: the check has no state yet. */
  read: () => Promise<State | null>;
  write: (state: State) => void;
  show: (takenAtMs: number) => Promise<CheckSnapshot>;
};

type CheckChannel = Pick<ApiCheck | Heartbeat, "channel">;

/** Why to end the open alert although the check did not recover; null: do not end it. */
export function endReasonOf({ channel }: Addressee, check: CheckChannel): string | null {
  if (check.channel === channel) return null;
  if (check.channel === null) return "the check pages nobody now";
  return channel === null ? "the check pages a channel now" : "the check pages another channel";
}

/**
 * Ends the open alert if the channel of the check has changed. Call it before any other change of the
 * check: if it still fails, its next run opens an alert at the new channel.
 */
export async function leaveOldChannel<State extends AlertHistory>(
  ctx: ObjectContext,
  check: CheckChannel,
  access: CheckAccess<State>,
): Promise<void> {
  const addressee = await readAddressee(ctx);
  if (addressee === null) return;
  // Journaled: journals of an earlier version have it, which did not hold the definition.
  const endedBecause = await ctx.run("compare-channel", async () => endReasonOf(addressee, check));
  if (endedBecause !== null) await endAlert(ctx, endedBecause, access);
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
