/** Detects that a run, or batches that it left, have ended without reporting it. */
import { type Context, implement } from "@restatedev/restate-sdk";
import type { FleetMember } from "#fleet/contract.ts";
import { readPatiently } from "#kernel/read-now.ts";
import { endsWithin } from "#kernel/restate.ts";
import { type Fleets, keyOf, type ListFleet, type OfFleet } from "#rollout/fleets.ts";
import { rolloutObject, rolloutWatch, type ServingRecord } from "#rollout/internal.ts";

/** The interval at which a running rollout is checked, in case every invocation that waits for it was killed. */
export const repairIntervalMs = 30_000;

/** Waits for the end of a run and reports it, since a killed run would look as if it still ran. */
export function createWatch(fleets: Pick<Fleets, "get">, listForMs: number) {
  return implement(rolloutWatch, {
    handlers: {
      run: watch,
      batches: watchBatches,
      paused: (ctx, paused) =>
        listOnce(ctx, paused, { listFleet: fleets.get(keyOf(paused)).listFleet, listForMs }),
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}

/** With the pauses between them an hour; then what the deploys have said counts on. */
const mostLists = 60;

async function listOnce(
  ctx: Context,
  { rolloutId, ids, ...of }: OfFleet & { rolloutId: string; ids: string[] },
  { listFleet, listForMs }: { listFleet: ListFleet; listForMs: number },
): Promise<null> {
  const failed = new Set(ids);
  const list = async () => {
    const members = await readPatiently(listForMs, listFleet).catch(() => null);
    return members?.flatMap((one) => (failed.has(one.id) ? toServing(one) : [])) ?? null;
  };
  let serving = await ctx.run("list-fleet", list);
  for (let lists = 1; serving === null && lists < mostLists; lists += 1) {
    await ctx.sleep(listForMs);
    serving = await ctx.run("list-fleet", list);
  }
  if (serving === null || serving.length === 0) return null;
  return ctx.client(rolloutObject, keyOf(of)).recordServing({ rolloutId, serving });
}

function toServing({ id, health, running_image: image }: FleetMember): ServingRecord["serving"] {
  if (health === "unhealthy") return [[id, ""]];
  return health === "healthy" && image !== "" ? [[id, image]] : [];
}

type WatchedRun = OfFleet & { rolloutId: string; runner: string };

async function watch(ctx: Context, { fleet, ...run }: WatchedRun): Promise<null> {
  const rollout = ctx.client(rolloutObject, keyOf({ fleet }));
  const failure = await endOf(ctx, [run.runner]);
  if (failure === undefined) return null;
  const ended = { ...run, failure: `the run ended early: ${failure}` };
  await rollout.runnerEnded({ ...ended, cause: "run" });
  const invocations = await rollout.openInvocations({ rolloutId: run.rolloutId });
  if (invocations.length === 0 || (await endOf(ctx, invocations)) === undefined) return null;
  return rollout.forgetBatches({ rolloutId: run.rolloutId, invocations });
}

/** Waits for batches that no run waits for: a killed one does not close itself. */
async function watchBatches(
  ctx: Context,
  { fleet, rolloutId, invocations }: OfFleet & { rolloutId: string; invocations: string[] },
): Promise<null> {
  const rollout = ctx.client(rolloutObject, keyOf({ fleet }));
  if ((await endOf(ctx, invocations, longestBatchMs)) === undefined) return null;
  return rollout.forgetBatches({ rolloutId, invocations });
}

/** Longer than the deploys of a batch take, one after the other. */
const longestBatchMs = 7 * 24 * 3_600_000;

/** The first failure's message of invocations that have all ended; undefined: some still run. */
async function endOf(
  ctx: Context,
  invocations: string[],
  withinMs = repairIntervalMs,
): Promise<string | undefined> {
  const ends = await endsWithin(ctx, invocations, withinMs);
  if (ends === undefined) return undefined;
  return ends.find(({ failure }) => failure !== undefined)?.failure ?? "without a result";
}
