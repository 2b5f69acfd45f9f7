/** `RolloutProofs`: makes the proof of each rollout at its end, and gives it to whoever may read. */
import { iface, implement } from "@restatedev/restate-sdk";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, unkept } from "#kernel/restate.ts";
import { proofHandlers, proofsName } from "./contract.ts";
import type { ProofStore } from "./store.ts";

export const rolloutProofs = iface.service(
  proofsName,
  {
    Read: iface.schemas({
      ...proofHandlers.Read,
      description: "The signed statement of what a rollout was: in-toto, in a DSSE envelope.",
    }),
    make: iface.json<{ rollout_id: string }, null>(),
  },
  { description: "Proofs of rollouts that have ended." },
);

const reading = databaseRead("read-proof", {
  limitMs: 15_000,
  problem: "the proof cannot be made",
});

export function createProofService({ ensure }: ProofStore) {
  return implement(rolloutProofs, {
    handlers: {
      Read: (ctx, { rollout_id: id }) => readNow(ctx, reading, () => ensure(id)),
      make: async (ctx, { rollout_id: id }) => {
        await ctx.run("make-proof", async () => {
          await ensure(id).catch((error) => {
            // It is rolled back by now: that end has a proof of its own.
            if (!(error instanceof ProblemError)) throw error;
          });
        });
        return null;
      },
    },
    options: {
      ...{ journalRetention: 0, asTerminalError },
      handlers: { Read: unkept, make: { ingressPrivate: true } },
    },
  });
}
