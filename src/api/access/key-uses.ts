/** Collects the uses of root keys in memory and writes them in batches, so that a call costs no write. */
import { inTime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";

/** The last use of a key, unix milliseconds. */
type LastUse = { keyId: string; timeMs: number };

const batchSize = 25_000;

/** Writes last uses, to the minute, and returns how many it changed. An earlier time changes nothing: repeatable. */
export function createWriteLastUsed(database: Database) {
  return async (uses: readonly LastUse[]): Promise<number> => {
    let written = 0;
    for (let start = 0; start < uses.length; start += batchSize) {
      const batch = uses.slice(start, start + batchSize);
      const { rowCount } = await database.query(writeStatement, [
        batch.map(({ keyId }) => keyId),
        batch.map(({ timeMs }) => timeMs),
      ]);
      written += rowCount ?? 0;
    }
    return written;
  };
}

const writeStatement = `
UPDATE keys SET last_used_at = used.at
FROM (
  SELECT id, date_trunc('minute', to_timestamp(max(ms) / 1000.0)) AS at
  FROM unnest($1::text[], $2::float8[]) AS use (id, ms) GROUP BY id
) used
WHERE keys.id = used.id AND (keys.last_used_at IS NULL OR keys.last_used_at < used.at)`;

export type RecordUse = (keyId: string, nowMs: number) => void;

type KeyUses = { record: RecordUse; close: () => Promise<void> };

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
