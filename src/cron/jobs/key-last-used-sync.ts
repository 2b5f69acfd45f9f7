/** Copies the time of each key's last use from analytics to the key. */
import type { Job } from "#cron/job.ts";
import { everyMinutes } from "#cron/schedule.ts";

/** Syncs one batch from `cursor` on (null: from the beginning); `isDone`: no more rows for now. */
export type SyncLastUsed = (
  cursor: string | null,
) => Promise<{ synced: number; cursor: string | null; isDone: boolean }>;

const cursorKey = "cursor";

export function createKeyLastUsedSync(syncLastUsed: SyncLastUsed): Job {
  return {
    schedule: everyMinutes(1),
    retryForMs: 30_000,
    run: async ({ step, recall, remember }) => {
      let cursor = await recall<string>(cursorKey);
      let synced = 0;
      for (let isDone = false; !isDone; ) {
        const from = cursor;
        const batch = await step("sync-last-used", () => syncLastUsed(from));
        synced += batch.synced;
        cursor = batch.cursor;
        isDone = batch.isDone;
        // After each batch, so that the next run does not sync it again.
        if (cursor !== null) remember(cursorKey, cursor);
      }
      return `${synced} keys synced`;
    },
  };
}
