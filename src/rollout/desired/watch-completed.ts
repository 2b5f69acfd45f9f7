/** Reads a rollout that has completed and is still watched (`watch_for`), for the rollout object to judge. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { type Readings, rolloutObject } from "#rollout/internal.ts";
import type { ReadPinned } from "#rollout/services/batch/pin-watch.ts";
import { type PollSettings, readConditions } from "#rollout/services/poll.ts";

export type WatchParts = {
  readPinned: ReadPinned;
  settingsOf: (fleet: string) => PollSettings;
};

/** The time for which failing pins are read again before the check fails. */
const retryForMs = 60_000;

/** Looks at a rollout that has completed and is still watched. */
export async function watchCompleted(ctx: ObjectContext, parts: WatchParts): Promise<void> {
  const rollout = ctx.client(rolloutObject, ctx.key);
  const wanted = await rollout.toLook({});
  if (wanted === null) return;
  const { rolloutId } = wanted.facts;
  const read = async (): Promise<Readings> => {
    const settings = parts.settingsOf(ctx.key);
    const look = await readConditions(ctx, { ...wanted, rolloutId, settings });
    if (look.strays === null || look.strays.length === 0) return look;
    // Whoever holds a sentinel changes it on purpose.
    const pinned = await parts.readPinned(
      look.strays.map(({ id }) => id),
      ctx.key,
    );
    const held = new Set(pinned.map(({ id }) => id));
    return { ...look, strays: look.strays.filter(({ id }) => !held.has(id)) };
  };
  const look = await ctx.run("look", read, { maxRetryDuration: retryForMs });
  await rollout.recordLook({ rolloutId, look });
}
