/** `RolloutReplay`: plays past rollouts against other policies, for whoever may read. */

import { iface, implement } from "@restatedev/restate-sdk";
import pLimit from "p-limit";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import type { GateTargets } from "#rollout/gates/kind.ts";
import { gatesOf } from "#rollout/gates/registry.ts";
import { type ReplayPolicy, replayHandlers, replayName } from "./contract.ts";
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

type Parts = {
  readFacts: ReturnType<typeof createReadFacts>;
  readGateTargets: () => Promise<Pick<GateTargets, "rows">>;
};

export function createReplayService({ readFacts, readGateTargets }: Parts) {
  const play = async (id: string, requested: ReplayPolicy) => {
    const { gate, gates, ...rest } = requested;
    const isSame = gate === undefined && gates === undefined;
    const chosen = isSame ? [] : gatesOf(requested, (await readGateTargets()).rows);
    return replay(await readFacts(id, chosen), isSame ? rest : { ...rest, gates: chosen });
  };
  return implement(rolloutReplay, {
    handlers: {
      Replay: (ctx, { rollout_id: id, policy }) =>
        readNow(ctx, reading, (signal) =>
          turns(async () => {
            // Its caller has an error by now, and those behind it wait.
            signal.throwIfAborted();
            return play(id, policy);
          }),
        ),
    },
    options: { journalRetention: 0, asTerminalError, handlers: { Replay: unkept } },
  });
}
