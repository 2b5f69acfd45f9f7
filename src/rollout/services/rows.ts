/** The Restate services that manage pins, promotions and windows. */
import { type Context, implement } from "@restatedev/restate-sdk";
import { readPatiently } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import { type PinStore, rolloutPins } from "#rollout/choice/store.ts";
import { warnOfPins } from "#rollout/choice/unmatched.ts";
import { singletonKey } from "#rollout/contract.ts";
import type { Fleets } from "#rollout/fleets.ts";
import { rolloutObject, type WindowsChange } from "#rollout/internal.ts";
import { type PromotionStore, rolloutPromotions } from "#rollout/promotions/store.ts";
import { createRowHandlers, holdsFor, type RowAccess } from "#rollout/rows/handlers.ts";
import { openingAt } from "#rollout/windows/calendar.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import { rolloutWindows, type WindowStore } from "#rollout/windows/store.ts";

/** The limit for listing a fleet. */
const listForMs = 5_000;

/** `RolloutPins`: manages which sentinels rollouts leave out. */
export function createPinService(store: PinStore, access: RowAccess & { fleets: Fleets }) {
  const rows = createRowHandlers({ store, access, word: "pin" });
  return implement(rolloutPins, {
    handlers: {
      List: async (ctx, request) => ({ pins: await rows.list(ctx, request) }),
      Add: async (ctx, pin) => {
        const added = await rows.add(ctx, pin as Pin);
        const warnings = await ctx.run("match-sentinels", () => warnOf(added, access.fleets));
        return { ...added, warnings };
      },
      Remove: async (ctx, removal) => {
        const { found } = await rows.remove(ctx, removal);
        if (found === null) throw store.unknown(removal.id);
        return found;
      },
    },
    options: { journalRetention: 0, asTerminalError, handlers: { List: unkept } },
  });
}

/** Warns of a pin that matches nothing. It may be added before its sentinels exist, so it is not refused. */
async function warnOf(pin: Pin, fleets: Fleets): Promise<string[]> {
  const names = pin.fleet === undefined ? fleets.names : [pin.fleet];
  try {
    const lists = names.map((name) => readPatiently(listForMs, fleets.get(name).listFleet));
    return warnOfPins((await Promise.all(lists)).flat(), { pins: [pin], nowMs: 0 });
  } catch (error) {
    return [`nobody knows whether it matches a sentinel: ${(error as Error).message}`];
  }
}

/** `RolloutPromotions`: manages which fleet takes an image only after which other one. */
export function createPromotionService(store: PromotionStore, access: RowAccess) {
  const rows = createRowHandlers({
    store,
    access,
    word: "promotion",
    check: ({ after }) => {
      access.fleets.require(after);
    },
  });
  return implement(rolloutPromotions, {
    handlers: {
      List: async (ctx, request) => ({ promotions: await rows.list(ctx, request) }),
      Add: (ctx, promotion) => rows.add(ctx, promotion),
      Remove: async (ctx, removal) => {
        const { found } = await rows.remove(ctx, removal);
        if (found === null) throw store.unknown(removal.id);
        return found;
      },
    },
    options: { journalRetention: 0, asTerminalError, handlers: { List: unkept } },
  });
}

/** `RolloutWindows`: manages when the waves of rollouts may start. */
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
