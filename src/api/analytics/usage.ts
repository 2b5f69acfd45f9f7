/** The program's own queries on analytics, for all workspaces or one. */
import { EngineError } from "./engine/engine-error.ts";
import type { AnalyticsStore } from "./parts.ts";
import { writeOneOf, writeText } from "./sql/write.ts";

/** A result of the store has at most 10,000 rows. */
const chunk = 5_000;

/** Billable uses since a point in time (unix ms): valid verifications and passed limits, by workspace id. */
export function createReadUsage(store: AnalyticsStore) {
  return async (workspaceIds: readonly string[], sinceMs: number): Promise<Map<string, number>> => {
    const usage = new Map<string, number>();
    for (let start = 0; start < workspaceIds.length; start += chunk) {
      const ids = writeOneOf("workspace_id", workspaceIds.slice(start, start + chunk));
      for (const { id, used } of await readUsed(store, ids, sinceMs)) {
        usage.set(id, Number(used));
      }
    }
    return usage;
  };
}

async function readUsed(store: AnalyticsStore, ids: string, sinceMs: number) {
  const { database } = store;
  const since = `time >= toDateTime(${Math.floor(sinceMs / 1_000)}, 'UTC')`;
  const sql = `SELECT workspace_id AS id, sum(n) AS used FROM (
      SELECT workspace_id, count AS n FROM ${database}.key_verifications_per_day_v1
      WHERE outcome = 'VALID' AND ${since} AND ${ids}
      UNION ALL
      SELECT workspace_id, passed AS n FROM ${database}.ratelimits_per_day_v1
      WHERE ${since} AND ${ids}
    ) GROUP BY workspace_id`;
  return (await store.query({ sql, filters: {} })) as { id: string; used: number }[];
}

export type LastUses = {
  uses: { keyId: string; timeMs: number }[];
  cursor: string | null;
  /** True if there is nothing more to read now. */
  isDone: boolean;
};

/** Events may reach the store so much later than they happened: this range is read again. */
const lateMs = 10 * 60_000;

/** Twice the interval between two reads. */
const leastStepMs = 2 * 60_000;

/** The first read starts so far back. */
const firstLookBackMs = 24 * 60 * 60_000;

/**
 * Returns the start of the next read after one from `fromMs` until now. After an outage of the store the events of
 * that time are still being sent, the oldest first, which may take half an hour: the start advances by only a
 * thirtieth of the range at each read.
 */
function nextStart(fromMs: number, nowMs: number): number {
  const stepMs = Math.max(leastStepMs, Math.floor((nowMs - fromMs) / 30));
  return Math.min(nowMs - lateMs, fromMs + stepMs);
}

/** The last uses of keys after `cursor`, up to `chunk` of them, ordered by time. */
export function createReadLastUses(store: AnalyticsStore) {
  return async (cursor: string | null, nowMs: number): Promise<LastUses> => {
    // The third part is the start of the first of several batches.
    const [time = nowMs - firstLookBackMs, keyId = "", from = time] = cursor?.split("/") ?? [];
    const sinceMs = Number(time);
    const sql = `SELECT key_id, max(time) AS at FROM ${store.database}.key_verifications_v1
      WHERE time >= ${sinceMs} GROUP BY key_id
      HAVING (at, key_id) > (${sinceMs}, ${writeText(keyId)})
      ORDER BY at, key_id LIMIT ${chunk}`;
    // It is read each minute, which would keep the embedded store from its rest.
    const hasNone = store.mayVerifySince?.(sinceMs) === false;
    const found = hasNone ? [] : await store.query({ sql, filters: {} }).catch(ifAbsent);
    // Nothing is recorded meanwhile: the next look continues where this one began.
    if (found === undefined) return { uses: [], cursor, isDone: true };
    const rows = found as { key_id: string; at: number }[];
    const last = rows.at(-1);
    const isDone = rows.length < chunk || last === undefined;
    const next = isDone
      ? `${nextStart(Number(from), nowMs)}/`
      : `${last.at}/${last.key_id}/${from}`;
    return {
      uses: rows.map(({ key_id, at }) => ({ keyId: key_id, timeMs: at })),
      cursor: next,
      isDone,
    };
  };
}

/** undefined: there is no store, as when the embedded engine is not installed. */
function ifAbsent(error: unknown): undefined {
  if (!(error instanceof EngineError) || error.failure !== "absent") throw error;
}

export type Span = { fromMs: number; nowMs: number };

/** Counts of each outcome: of all key spaces over time, and of single ones in the whole range. */
export type Outcomes = {
  overTime: { atMs: number; outcome: string; n: number }[];
  ofKeySpaces: { keySpaceId: string; outcome: string; n: number }[];
};

/** Verifications of a workspace by outcome and by key space: a point per minute up to 6 h, per hour up to a month, per day. */
export function createReadOutcomes(store: AnalyticsStore) {
  return async (
    workspaceId: string,
    { fromMs, nowMs }: Span,
    keySpaceIds: readonly string[],
  ): Promise<Outcomes> => {
    const read = (sql: string) => store.query({ sql, filters: {} });
    const rows = `${store.database}.key_verifications_per_${rollupFor(nowMs - fromMs)}_v1
      WHERE workspace_id = ${writeText(workspaceId)}
        AND time >= toDateTime(${Math.floor(fromMs / 1_000)}, 'UTC')`;
    const overTime = await read(
      `SELECT toUnixTimestamp(time) * 1000 AS atMs, outcome, sum(count) AS n FROM ${rows}
       GROUP BY time, outcome ORDER BY time, outcome`,
    );
    const ofKeySpaces = await read(
      `SELECT key_space_id AS keySpaceId, outcome, sum(count) AS n FROM ${rows}
        AND ${writeOneOf("key_space_id", keySpaceIds)}
       GROUP BY key_space_id, outcome ORDER BY key_space_id, outcome`,
    );
    return { overTime, ofKeySpaces } as Outcomes;
  };
}

const hourMs = 3_600_000;

const bucketSeconds = { minute: 60, hour: 3_600, day: 86_400 } as const;

/** The length of a point of `createReadOutcomes`. */
export function bucketSecondsOf(spanMs: number): number {
  return bucketSeconds[rollupFor(spanMs)];
}

function rollupFor(spanMs: number): "minute" | "hour" | "day" {
  if (spanMs <= 6 * hourMs) return "minute";
  return spanMs <= 31 * 24 * hourMs ? "hour" : "day";
}
