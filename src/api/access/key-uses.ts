/** Collects the uses of root keys in memory and writes them in batches, so that a call costs no write. */
import { createWriteLastUsed } from "#api/access/last-used.ts";
import type { Database } from "#kernel/database.ts";
import { inTime } from "#kernel/in-time.ts";
import type { Log } from "#kernel/log.ts";

/** `nowMs`: unix milliseconds. */
export type RecordUse = (keyId: string, nowMs: number) => void;

export type KeyUses = { record: RecordUse; close: () => Promise<void> };

const writeEveryMs = 10_000;
const closeWithinMs = 2_000;

const minuteMs = 60_000;

/** Records uses to the minute; they are in the database some seconds later. */
export function createKeyUses(database: Database, log: Log): KeyUses {
  const write = createWriteLastUsed(database);
  /** The minute of each root key's last use; its size is the number of root keys. */
  const lastMinutes = new Map<string, number>();
  let unwritten = new Map<string, number>();
  const flush = async (): Promise<void> => {
    if (unwritten.size === 0) return;
    const batch = unwritten;
    unwritten = new Map();
    try {
      await write([...batch].map(([keyId, timeMs]) => ({ keyId, timeMs })));
    } catch (error) {
      log.warn({ detail: (error as Error).message }, "uses of root keys not written yet");
      for (const [keyId, timeMs] of batch) {
        if (!unwritten.has(keyId)) unwritten.set(keyId, timeMs);
      }
    }
  };
  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(flush);
  }, writeEveryMs).unref();
  return {
    record: (keyId, nowMs) => {
      const minute = Math.floor(nowMs / minuteMs);
      if (lastMinutes.get(keyId) === minute) return;
      lastMinutes.set(keyId, minute);
      unwritten.set(keyId, nowMs);
    },
    close: async () => {
      clearInterval(timer);
      await inTime(() => running.then(flush), { limitMs: closeWithinMs, otherwise: undefined });
    },
  };
}
