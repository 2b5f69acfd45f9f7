/** Looks whether a run, or the batches that it leaves, have ended without saying so. */
import { type Context, implement } from "@restatedev/restate-sdk";
import { endsWithin } from "#kernel/attach.ts";
import { singletonKey } from "#rollout/contract.ts";
import { rolloutObject, rolloutWatch } from "#rollout/internal.ts";

/** How often a rollout at work is looked after, in case everything that waits for it was killed. */
export const repairIntervalMs = 30_000;

/** Waits for a run's end and tells the rollout, which otherwise would look as if it went on. */
export const watchService = implement(rolloutWatch, {
  handlers: { run: watch },
  options: { ingressPrivate: true, journalRetention: 0 },
});

async function watch(ctx: Context, run: { rolloutId: string; runner: string }): Promise<null> {
  const rollout = ctx.client(rolloutObject, singletonKey);
  const failure = await endOf(ctx, [run.runner]);
  if (failure === undefined) return null;
  const ended = { ...run, failure: `the run ended early: ${failure}` };
  await rollout.runnerEnded({ ...ended, cause: "run" });
  const invocations = await rollout.openInvocations({ rolloutId: run.rolloutId });
  if (invocations.length === 0 || (await endOf(ctx, invocations)) === undefined) return null;
  return rollout.forgetBatches({ rolloutId: run.rolloutId, invocations });
}

/** How the invocations ended, the first failure's message if any; undefined when some still run. */
async function endOf(ctx: Context, invocations: string[]): Promise<string | undefined> {
  const ends = await endsWithin(ctx, invocations, repairIntervalMs);
  if (ends === undefined) return undefined;
  return ends.find(({ failure }) => failure !== undefined)?.failure ?? "without a result";
}
