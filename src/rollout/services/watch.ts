/** Detects that a run, or batches that it left, have ended without reporting it. */
import { type Context, implement } from "@restatedev/restate-sdk";
import { endsWithin } from "#kernel/attach.ts";
import { keyOf, type OfFleet } from "#rollout/fleets.ts";
import { rolloutObject, rolloutWatch } from "#rollout/internal.ts";

/** How often a running rollout is checked, in case every invocation that waits for it was killed. */
export const repairIntervalMs = 30_000;

/** Waits for the end of a run and reports it, since a killed run would look as if it still ran. */
export const watchService = implement(rolloutWatch, {
  handlers: { run: watch },
  options: { ingressPrivate: true, journalRetention: 0 },
});

type Watched = OfFleet & { rolloutId: string; runner: string };

async function watch(ctx: Context, { fleet, ...run }: Watched): Promise<null> {
  const rollout = ctx.client(rolloutObject, keyOf({ fleet }));
  const failure = await endOf(ctx, [run.runner]);
  if (failure === undefined) return null;
  const ended = { ...run, failure: `the run ended early: ${failure}` };
  await rollout.runnerEnded({ ...ended, cause: "run" });
  const invocations = await rollout.openInvocations({ rolloutId: run.rolloutId });
  if (invocations.length === 0 || (await endOf(ctx, invocations)) === undefined) return null;
  return rollout.forgetBatches({ rolloutId: run.rolloutId, invocations });
}

/** The first failure's message of invocations that have all ended; undefined: some still run. */
async function endOf(ctx: Context, invocations: string[]): Promise<string | undefined> {
  const ends = await endsWithin(ctx, invocations, repairIntervalMs);
  if (ends === undefined) return undefined;
  return ends.find(({ failure }) => failure !== undefined)?.failure ?? "without a result";
}
