import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RolloutPlan } from "#rollout/contract.ts";
import {
  type Answer,
  type RolloutBench,
  startRolloutBench,
} from "../../support/rollout/rollout-bench.ts";
import { rolloutCommands } from "../../support/rollout/rollout-commands.ts";
import { lift } from "../../support/rollout/rollout-drift-steps.ts";
import { startReceiver } from "../../support/rollout/rollout-gates.ts";
import { RolloutModel } from "../../support/rollout/rollout-model.ts";
import { unpin } from "../../support/rollout/rollout-pin-step.ts";
import { nextImage, type Real } from "../../support/rollout/rollout-step.ts";
import { thaw } from "../../support/rollout/rollout-wait-steps.ts";

const sequences = Number(process.env["MODEL_SEQUENCES"] ?? 90);

/** Each has servers of its own; most of the time they wait for a disk or for each other. */
const seeds = [20_261_120, 20_261_121, 20_261_122];
const share = Math.ceil(sequences / seeds.length);

describe.concurrent(`${sequences} random sequences of operations`, { retry: 0 }, () => {
  it.for(seeds)(
    "do what the documented table says (seed %i)",
    { timeout: 300_000 + share * 5_000 },
    async (seed, { onTestFinished }) => {
      const drift: Real["drift"] = { on: "report" };
      const { webhooks, stop } = await startReceiver();
      onTestFinished(stop);
      const bench = await startRolloutBench({
        ...{ size: 6, maxParallel: 2, webhooks, onDrift: () => drift.on },
      });
      onTestFinished(() => bench.stop());
      const ids = [...bench.fleet.running().keys()];
      let operations = 0;

      await fc.assert(
        fc.asyncProperty(rolloutCommands(ids), async (commands) => {
          const model = await startOver(bench);
          const unanswered: Promise<Answer>[] = [];
          operations += [...commands].length;
          await fc.asyncModelRun(() => ({ model, real: { bench, unanswered, drift } }), commands);
          await standStill(bench, model);
          for (const { status } of await Promise.all(unanswered)) expect(status).toBe(200);
        }),
        // Shrinking would run on the same real rollout for minutes; the seed repeats a failure.
        { numRuns: share, endOnFailure: true, seed },
      );

      expect(operations).toBeGreaterThan(share);
    },
  );
});

/** Whoever waits for an answer gets it now. */
async function standStill(of: RolloutBench, model: RolloutModel): Promise<void> {
  if (model.waitingFor !== null) await of.call("Cancel");
  if (model.isFrozen) await thaw(of);
  await unpin(model, of);
  await lift(model, of);
}

/** There is one rollout for all sequences: each begins after one that has completed, or with none. */
async function startOver(of: RolloutBench): Promise<RolloutModel> {
  of.fleet.behave(() => ({ status: "ready" }));
  const { state } = (await of.call("Status")).body;
  if (state === "paused") await of.call("Cancel");
  const model = new RolloutModel(of.fleet.running());
  if (state === "idle") return model;
  const request = { image: nextImage() };
  const plan = RolloutPlan.parse((await of.call("Plan", request)).body);
  await of.call("Rollout", request);
  model.begin(request.image, plan);
  model.run(new Set());
  return model;
}
