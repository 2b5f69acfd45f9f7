/** `RolloutWindows`: manages when the waves of rollouts may start. */
import { type Context, implement } from "@restatedev/restate-sdk";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import { nameOf, type ReadActor } from "#rollout/actor.ts";
import { singletonKey } from "#rollout/contract.ts";
import { rolloutObject } from "#rollout/internal.ts";
import { openingAt } from "#rollout/windows/calendar.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import { rolloutWindows } from "#rollout/windows/interface.ts";
import { unknownWindow, type WindowStore } from "#rollout/windows/store.ts";

type Parts = { windows: WindowStore; readActor: ReadActor };

const problem = "the windows cannot be read or changed";
const listing = databaseRead("list", { limitMs: 5_000, problem });
/** Longer than a statement can take: a change must not take effect after its caller got an error. */
const changes = { limitMs: 330_000, problem };
const adding = databaseRead("add", changes);
const removal = databaseRead("remove", changes);

export function createWindowService({ windows, readActor }: Parts) {
  return implement(rolloutWindows, {
    handlers: {
      List: async (ctx) => {
        const listed = await readNow(ctx, listing, windows.list);
        return { windows: listed, now: openingAt(listed, await ctx.date.now()) };
      },
      Add: async (ctx, window) => {
        const by = nameOf(readActor(ctx));
        const added = await readNow(ctx, adding, () => windows.add(window as RolloutWindow, by));
        ctx.console.info("rollout window added", { window: window.id, kind: window.kind, by });
        await rolloutOf(ctx).windowsChanged({});
        return added;
      },
      Remove: async (ctx, { id, reason }) => {
        const by = nameOf(readActor(ctx));
        // A step of its own: after a kill the window may be gone already.
        const found = await readNow(ctx, listing, () => windows.find(id));
        if (found === null) {
          // Whoever removed it may have been killed before the rollout was told.
          await rolloutOf(ctx).windowsChanged({});
          throw unknownWindow(id);
        }
        const { kind } = found;
        await readNow(ctx, removal, () => windows.remove(found));
        ctx.console.info("rollout window removed", { window: id, kind, by, reason });
        await rolloutOf(ctx).windowsChanged({ removed: { id, kind, by, reason } });
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
