/** `RolloutWindows`: manages when the waves of rollouts may start. */
import { type Context, implement } from "@restatedev/restate-sdk";
import type { ReadActor } from "#kernel/actor.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { singletonKey } from "#rollout/contract.ts";
import { rolloutObject } from "#rollout/internal.ts";
import { createRowHandlers } from "#rollout/rows/handlers.ts";
import { openingAt } from "#rollout/windows/calendar.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import { rolloutWindows } from "#rollout/windows/interface.ts";
import type { WindowStore } from "#rollout/windows/store.ts";

export function createWindowService(store: WindowStore, readActor: ReadActor) {
  const rows = createRowHandlers({ store, readActor, word: "window" });
  return implement(rolloutWindows, {
    handlers: {
      List: async (ctx) => {
        const windows = await rows.list(ctx);
        return { windows, now: openingAt(windows, await ctx.date.now()) };
      },
      Add: async (ctx, window) => {
        const added = await rows.add(ctx, window as RolloutWindow);
        await rolloutOf(ctx).windowsChanged({});
        return added;
      },
      Remove: async (ctx, { id, reason }) => {
        const { found, by } = await rows.remove(ctx, { id, reason });
        // Also for none: whoever removed it may have been killed before the rollout was told.
        const removed = found === null ? {} : { removed: { id, kind: found.kind, by, reason } };
        await rolloutOf(ctx).windowsChanged(removed);
        if (found === null) throw store.unknown(id);
        return found;
      },
    },
    options: { journalRetention: 0, asTerminalError },
  });
}

/** Called before the answer: from then on no wave starts by the windows as they were. */
function rolloutOf(ctx: Context) {
  return ctx.client(rolloutObject, singletonKey);
}
