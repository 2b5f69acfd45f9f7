/**
 * Ends alerts that would stay open for ever where they were sent: of checks that are defined no longer,
 * and of those that page nobody now, or somebody else, or somebody at last.
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

/** What is remembered of the check, and how it is shown. */
type CheckAccess<State> = {
  /** null: nobody waits for it yet. */
  read: () => Promise<State | null>;
  write: (state: State) => void;
  show: (takenAtMs: number) => Promise<CheckSnapshot>;
};

type CheckChannel = Pick<ApiCheck | Heartbeat, "channel">;

/** Why the open alert is over although the check did not recover; null: it is not. */
export function whyOver({ channel }: Addressee, check: CheckChannel): string | null {
  if (check.channel === channel) return null;
  if (check.channel === null) return "the check pages nobody now";
  return channel === null ? "the check pages a channel now" : "the check pages another channel";
}

/**
 * Before anything else is done about a check: should it still fail, its next run opens an alert where
 * the check pages now.
 */
export async function leaveOldChannel<State extends AlertHistory>(
  ctx: ObjectContext,
  check: CheckChannel,
  standing: CheckAccess<State>,
): Promise<void> {
  const addressee = await readAddressee(ctx);
  if (addressee === null) return;
  // In the journal: made again after a crash, and with other definitions, the call takes the same turn.
  const endedBecause = await ctx.run("compare-channel", async () => whyOver(addressee, check));
  if (endedBecause !== null) await endAlert(ctx, endedBecause, standing);
}

/** To whom its failure went its recovery goes. State, event and records leave together, as always. */
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

/** An older program that starts again misses the checks that are new: whoever serves the call knows better. */
export function isRemoved(ctx: ObjectContext, defined: ReadonlySet<string>): Promise<boolean> {
  return ctx.run("look-up-check", async () => !defined.has(ctx.key));
}
