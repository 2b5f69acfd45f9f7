/** Explains a pause by what else changed before: a gate or a sentinel may have failed by something other than its image. */
import { setTimeout as delay } from "node:timers/promises";
import { inTime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import { suspectWords } from "#kernel/words.ts";
import type { Blame, ExplainPause, ReadExplained } from "./contract.ts";

/** A pause is more important than its cause. */
const limitMs = 1_000;

type ReadBlame = (nowMs: number) => Promise<Blame>;

export function createExplainPause(database: Database, readBlame: ReadBlame): ExplainPause {
  const explain = async (rollout: { id: string; fleet: string }) => {
    const { rows } = await database.query(findPause, [rollout.id]);
    const [found] = rows;
    if (found === undefined) return [];
    const blame = await readBlame(found.now_ms);
    const suspects = blame({
      goodAtMs: Math.min(found.good_ms, found.now_ms),
      failedAtMs: found.now_ms,
      place: { names: found.regions, fleet: rollout.fleet },
    });
    // Its own changes of sentinels are no news there.
    const others = suspects.filter(({ id }) => !id.startsWith(`${rollout.id}:`));
    return others.length === 0 ? [] : [`Changed besides: ${suspectWords(others)}.`];
  };
  return async (rollout) => {
    if (rollout.event !== "paused") return [];
    return inTime(() => explain(rollout), { limitMs, otherwise: [] });
  };
}

/** Waits for the message of a pause in history, and returns its lines: it is explained once, there. Its own lines if history is late. */
export function createReadExplained(database: Database): ReadExplained {
  const poll = async (rollout: string, id: string, endMs: number) => {
    for (;;) {
      const { rows } = await database.query<{ lines: string[] }>(findMessage, [rollout, id]);
      if (rows[0] !== undefined || performance.now() > endMs) return rows[0]?.lines;
      await delay(pollMs);
    }
  };
  return async ({ id, lines, rollout }) => {
    if (rollout?.event !== "paused") return lines;
    const read = () => poll(rollout.id, id, performance.now() + 2 * limitMs);
    return (await inTime(read, { limitMs: 2 * limitMs, otherwise: undefined })) ?? lines;
  };
}

const pollMs = 100;

const findMessage = `
  SELECT message -> 'lines' AS lines FROM rollout_messages WHERE rollout_id = $1 AND message ->> 'id' = $2`;

// It was good until its newest wave began. Regions: of the sentinels that failed. An operator, another version and a lost run
// are causes themselves.
const findPause = `
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
    floor(extract(epoch FROM coalesce((waves -> (current_wave - 1) ->> 'started_at')::timestamptz, started_at)) * 1000)
      ::float8 AS good_ms,
    ARRAY(SELECT DISTINCT region FROM rollout_sentinels
      WHERE rollout_id = id AND outcome = 'failed' AND region IS NOT NULL LIMIT 20) AS regions
  FROM rollouts WHERE id = $1 AND coalesce(cause, '') NOT IN ('operator', 'version', 'run')`;
