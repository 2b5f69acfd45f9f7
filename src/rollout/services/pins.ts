/** `RolloutPins`: manages which sentinels rollouts leave out. */
import { implement } from "@restatedev/restate-sdk";
import type { ReadActor } from "#kernel/actor.ts";
import { asTerminalError } from "#kernel/terminal.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import { rolloutPins } from "#rollout/choice/interface.ts";
import type { PinStore } from "#rollout/choice/store.ts";
import { createRowHandlers } from "#rollout/rows/handlers.ts";

export function createPinService(store: PinStore, readActor: ReadActor) {
  const rows = createRowHandlers({ store, readActor, word: "pin" });
  return implement(rolloutPins, {
    handlers: {
      List: async (ctx) => ({ pins: await rows.list(ctx) }),
      Add: (ctx, pin) => rows.add(ctx, pin as Pin),
      Remove: async (ctx, removal) => {
        const { found } = await rows.remove(ctx, removal);
        if (found === null) throw store.unknown(removal.id);
        return found;
      },
    },
    options: { journalRetention: 0, asTerminalError },
  });
}
