import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { rolloutCommands } from "../../support/rollout/rollout-commands.ts";
import { RolloutModel } from "../../support/rollout/rollout-model.ts";

const sequences = Number(process.env["MODEL_SEQUENCES"] ?? 300);

/** Each has servers of its own; most of the time they wait for a disk or for each other. */
const seeds = [20_261_120, 20_261_121, 20_261_122];
const share = Math.ceil(sequences / seeds.length);

describe.concurrent(`${sequences} random sequences of operations`, { retry: 0 }, () => {
  it.for(seeds)(
    "do what the documented table says (seed %i)",
    { timeout: 300_000 + share * 5_000 },
    async (seed, { onTestFinished }) => {
      const bench = await startRolloutBench({ size: 6, maxParallel: 2 });
      onTestFinished(() => bench.stop());
      const ids = [...bench.fleet.running().keys()];
      let operations = 0;

      await fc.assert(
        fc.asyncProperty(rolloutCommands(ids), async (commands) => {
          const model = await startOver(bench);
          operations += [...commands].length;
          await fc.asyncModelRun(() => ({ model, real: bench }), commands);
        }),
        // Shrinking would run on the same real rollout for minutes; the seed repeats a failure.
        { numRuns: share, endOnFailure: true, seed },
      );

      expect(operations).toBeGreaterThan(share);
    },
  );
});

/** There is one rollout for all sequences: each begins after one that has completed, or with none. */
async function startOver(of: RolloutBench): Promise<RolloutModel> {
  of.fleet.behave(() => ({ status: "ready" }));
  const { state } = (await of.call("Status")).body;
  if (state === "paused") await of.call("Cancel");
  const isFirst = state === "idle";
  if (!isFirst) await of.call("Rollout", { image: "registry.example.com/vedette/sentinel:start" });
  const model = new RolloutModel(of.fleet.running());
  model.state = isFirst ? "idle" : "completed";
  return model;
}
