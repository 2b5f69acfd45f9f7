/** `RolloutReplay`: plays past rollouts against other policies, for whoever may read. */

import { iface, implement } from "@restatedev/restate-sdk";
import pLimit from "p-limit";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import { gatesOf } from "#rollout/gates/registry.ts";
import { replayHandlers, replayName } from "./contract.ts";
import { replay } from "./replay.ts";
import type { createReadFacts } from "./store.ts";

export const rolloutReplay = iface.service(
  replayName,
  {
    Replay: iface.schemas({
      ...replayHandlers.Replay,
      description: "What another policy would have done with a past rollout.",
    }),
  },
  { description: "Past rollouts played against other policies." },
);

const reading = databaseRead("replay-rollout", {
  limitMs: 25_000,
  problem: "history cannot be read",
});

/** A large fleet takes a second of the processor: others wait for their turn. */
const turns = pLimit(1);

export function createReplayService(readFacts: ReturnType<typeof createReadFacts>) {
  return implement(rolloutReplay, {
    handlers: {
      Replay: (ctx, { rollout_id: id, policy }) =>
        readNow(ctx, reading, (signal) =>
          turns(async () => {
            // Its caller has an error by now, and those behind it wait.
            signal.throwIfAborted();
            return replay(await readFacts(id, gatesOf(policy)), policy);
          }),
        ),
    },
    options: { journalRetention: 0, asTerminalError, handlers: { Replay: unkept } },
  });
}
