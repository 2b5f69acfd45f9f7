/** `RolloutPins`: manages which sentinels rollouts leave out. */
import { implement } from "@restatedev/restate-sdk";
import { readPatiently } from "#kernel/read-now.ts";
import { unkept } from "#kernel/retry-policy.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import { rolloutPins } from "#rollout/choice/interface.ts";
import type { PinStore } from "#rollout/choice/store.ts";
import { warnOfPins } from "#rollout/choice/unmatched.ts";
import type { Fleets } from "#rollout/fleets.ts";
import { createRowHandlers, type RowAccess } from "#rollout/rows/handlers.ts";

/** The limit for listing a fleet. */
const listForMs = 5_000;

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
