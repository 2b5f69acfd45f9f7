/** Reads a rollout that has completed and is still watched (`watch_for`), for the rollout object to judge. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { type CompletedLook, rolloutObject } from "#rollout/internal.ts";
import type { ReadPinned } from "#rollout/services/batch/pin-watch.ts";
import { type PollSettings, readConditions } from "#rollout/services/poll.ts";

export type WatchParts = {
  readPinned: ReadPinned;
  settingsOf: (fleet: string) => PollSettings;
};

/** The time for which failing pins are read again before the check fails. */
const retryForMs = 60_000;

/** Reads a rollout that has completed and is still watched: it lists its fleet. null: it is not watched. */
export async function readCompleted(
  ctx: ObjectContext,
  { settingsOf }: WatchParts,
): Promise<CompletedLook | null> {
  const wanted = await ctx.client(rolloutObject, ctx.key).toLook({});
  if (wanted === null) return null;
  const { rolloutId } = wanted.facts;
  const read = () => readConditions(ctx, { ...wanted, rolloutId, settings: settingsOf(ctx.key) });
  return { rolloutId, look: await ctx.run("look", read, { maxRetryDuration: retryForMs }) };
}

/** Has it judged, without sentinels that are held by now: whoever holds one changes it on purpose. */
export async function recordCompleted(
  ctx: ObjectContext,
  { rolloutId, look }: CompletedLook,
  { readPinned }: WatchParts,
): Promise<void> {
  const ids = look.strays?.map(({ id }) => id) ?? [];
  const readHeld = async () => (await readPinned(ids, ctx.key)).map(({ id }) => id);
  const options = { maxRetryDuration: retryForMs };
  const held = new Set(ids.length === 0 ? [] : await ctx.run("read-held", readHeld, options));
  const strays = look.strays?.filter(({ id }) => !held.has(id)) ?? null;
  await ctx.client(rolloutObject, ctx.key).recordLook({ rolloutId, look: { ...look, strays } });
}
