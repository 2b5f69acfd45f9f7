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
import type { WindowStore } from "#rollout/windows/store.ts";

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
        tellRollout(ctx);
        return added;
      },
      Remove: async (ctx, { id }) => {
        // A step of its own: after a kill the window may be gone already.
        const found = await readNow(ctx, listing, () => windows.find(id));
        await readNow(ctx, removal, () => windows.remove(id));
        const by = nameOf(readActor(ctx));
        ctx.console.info("rollout window removed", { window: id, kind: found.kind, by });
        tellRollout(ctx);
        return found;
      },
    },
    options: { journalRetention: 0, asTerminalError },
  });
}

/** One that waits for a window looks again. */
function tellRollout(ctx: Context): void {
  ctx.sendClient(rolloutObject, singletonKey).windowsChanged({});
}
