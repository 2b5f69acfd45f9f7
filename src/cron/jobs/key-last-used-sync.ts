/** Writes to each key when it was last used, which only analytics know. */
import type { Job } from "#cron/job.ts";
import { everyMinutes } from "#cron/schedule.ts";

/** Syncs one batch from where `cursor` stands; `isDone`: nothing more is there for now. */
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
        // Batch by batch: what was synced is not synced again by the next run.
        if (cursor !== null) remember(cursorKey, cursor);
      }
      return `${synced} keys synced`;
    },
  };
}
