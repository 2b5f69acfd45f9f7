/** Ends the sleep of a run that waits, so that it looks again. */
import { InvocationIdParser, type ObjectContext } from "@restatedev/restate-sdk";
import { wakeSignal } from "#rollout/conditions/wait.ts";
import type { WindowsChange } from "#rollout/internal.ts";
import { type RolloutHead, readHead, readWindowsEpoch, writeWindowsEpoch } from "#rollout/state.ts";
import { announce } from "./announce.ts";

export function wake(ctx: ObjectContext, { runner, wait }: RolloutHead): void {
  if (wait === undefined) return;
  ctx
    .invocation(InvocationIdParser.fromString(runner))
    .signal<null>(wakeSignal(wait.round))
    .resolve(null);
}

/** Windows were added or removed: what was read before says nothing any more. */
export async function windowsChanged(
  ctx: ObjectContext,
  { removed }: WindowsChange,
): Promise<null> {
  writeWindowsEpoch(ctx, (await readWindowsEpoch(ctx)) + 1);
  const head = await readHead(ctx);
  if (head?.state !== "in_progress" || head.wait?.waitingFor !== "window") return null;
  wake(ctx, head);
  if (removed === undefined) return null;
  const { id, kind, by, reason } = removed;
  const about = kind === "freeze" ? `the freeze ${id}` : `the allowed window ${id}`;
  await announce(ctx, head, { event: "window removed", by, reason: `${about}: ${reason}` });
  return null;
}
