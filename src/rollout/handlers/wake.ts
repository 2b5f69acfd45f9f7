/** Ends the sleep of a run that waits, so that it looks again. */
import { InvocationIdParser, type ObjectContext } from "@restatedev/restate-sdk";
import { wakeSignal } from "#rollout/conditions/wait.ts";
import { type RolloutHead, readHead } from "#rollout/state.ts";

export function wake(ctx: ObjectContext, { runner, wait }: RolloutHead): void {
  if (wait === undefined) return;
  ctx
    .invocation(InvocationIdParser.fromString(runner))
    .signal<null>(wakeSignal(wait.round))
    .resolve(null);
}

/** Windows were added or removed. */
export async function windowsChanged(ctx: ObjectContext): Promise<null> {
  const head = await readHead(ctx);
  if (head?.state === "in_progress" && head.wait?.waitingFor === "window") wake(ctx, head);
  return null;
}
