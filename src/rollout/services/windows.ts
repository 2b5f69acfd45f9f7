/** `RolloutWindows`: manages when the waves of rollouts may start. */
import { type Context, implement } from "@restatedev/restate-sdk";
import { unkept } from "#kernel/retry-policy.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { singletonKey } from "#rollout/contract.ts";
import { rolloutObject, type WindowsChange } from "#rollout/internal.ts";
import { createRowHandlers, holdsFor, type RowAccess } from "#rollout/rows/handlers.ts";
import { openingAt } from "#rollout/windows/calendar.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import { rolloutWindows } from "#rollout/windows/interface.ts";
import type { WindowStore } from "#rollout/windows/store.ts";

export function createWindowService(store: WindowStore, access: RowAccess) {
  const rows = createRowHandlers({ store, access, word: "window" });
  /** Journaled: the settings may be others when a handler is tried again. */
  const tell = async (ctx: Context, { fleet }: HasFleet, change: WindowsChange) => {
    const all = await ctx.run("read-fleets", () => [...access.fleets.names]);
    // Called before the answer: from then on no wave starts by the windows as they were.
    for (const name of fleet === undefined ? all : [fleet]) {
      await ctx.client(rolloutObject, name).windowsChanged(change);
    }
  };
  return implement(rolloutWindows, {
    handlers: {
      List: async (ctx, { fleet }) => {
        const windows = await rows.list(ctx, { fleet });
        const holding = windows.filter((one) => holdsFor(one, fleet ?? singletonKey));
        return { windows, now: openingAt(holding, await ctx.date.now()) };
      },
      Add: async (ctx, window) => {
        const added = await rows.add(ctx, window as RolloutWindow);
        await tell(ctx, window, {});
        return added;
      },
      Remove: async (ctx, { id, reason }) => {
        const { found, by } = await rows.remove(ctx, { id, reason });
        // Also for none: whoever removed it may have been killed before the rollout was told.
        const removed = found === null ? {} : { removed: { id, kind: found.kind, by, reason } };
        await tell(ctx, found ?? {}, removed);
        if (found === null) throw store.unknown(id);
        return found;
      },
    },
    options: { journalRetention: 0, asTerminalError, handlers: { List: unkept } },
  });
}

type HasFleet = { fleet?: string | undefined };
