/** `RolloutPins`: manages which sentinels rollouts leave out. */
import { implement } from "@restatedev/restate-sdk";
import { asTerminalError } from "#kernel/terminal.ts";
import type { Pin } from "#rollout/choice/contract.ts";
import { rolloutPins } from "#rollout/choice/interface.ts";
import type { PinStore } from "#rollout/choice/store.ts";
import { createRowHandlers, type RowAccess } from "#rollout/rows/handlers.ts";

export function createPinService(store: PinStore, access: RowAccess) {
  const rows = createRowHandlers({ store, access, word: "pin" });
  return implement(rolloutPins, {
    handlers: {
      List: async (ctx, request) => ({ pins: await rows.list(ctx, request) }),
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
