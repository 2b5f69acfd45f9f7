/** Finds pings that the object of a watched heartbeat was not called with, and ends the watch. */
import type { Database } from "#kernel/database.ts";
import { createGroups } from "#kernel/groups.ts";
import type { Absences } from "#monitor/rules/absences.ts";
import { untilFoundAgain } from "./deadlines.ts";
import { readAbsences } from "./presence.ts";

/**
 * The pings that an object knows: the time of the last success, or before which none counts, and that of the last start
 * or failure that it has received. null: none.
 */
export type KnownPings = {
  id: string;
  lastPingAtMs: number | null;
  receivedAtMs: number | null;
};

/** With the deadline, by what the object knows. */
type ReleasedWatch = KnownPings & { dueAtMs: number };

type FoundPings = {
  lastPingAtMs: number | null;
  /**
   * The last start or failure that was announced and that the object has not received: the last ping may be
   * later, and must not overtake it. null: the object has received all. The name is in journals.
   */
  tellingAtMs: number | null;
};

/** With the spans in which no process could take pings. */
type PingReport = FoundPings & { absences: Absences };

export function createWatches(database: Database) {
  const find = createFind(database, selectPings);
  const release = createFind(database, releaseWatches, (known: ReleasedWatch) => known.dueAtMs);
  return {
    /** Returns when the heartbeat is polled next (Unix ms); null: it has no ping URL. */
    async dueAtMs(id: string): Promise<number | null> {
      const { rows } = await database.query<{ due_at: Date }>(selectDue, [id]);
      return rows[0]?.due_at.getTime() ?? null;
    },

    /** Pings since the last known one; from now on the object is watching. */
    poll: createGroups(async (known: readonly KnownPings[]): Promise<readonly PingReport[]> => {
      const found = await find(known);
      const absences = await readAbsences(database);
      return found.map((pings) => ({ ...pings, absences }));
    }),

    /**
     * Ends the watch: from now on `deadlines.ts` finds out whether pings come. The watch remains when there is a
     * ping that the caller did not know of, or a start or failure that it has still to receive.
     */
    release: createGroups(release),
  };
}

/** Runs a statement that returns what was found of each heartbeat. */
function createFind<Known extends KnownPings>(
  database: Database,
  statement: string,
  dueOf?: (known: Known) => number,
) {
  return async (known: readonly Known[]): Promise<readonly FoundPings[]> => {
    const { rows } = await database.query<FoundRow>(statement, [
      known.map(({ id }) => id),
      known.map(({ lastPingAtMs }) => toDate(lastPingAtMs)),
      known.map(({ receivedAtMs }) => toDate(receivedAtMs)),
      known.map((one) => toDate(dueOf?.(one) ?? null)),
    ]);
    const byId = new Map(rows.map((row) => [row.id, toFound(row)]));
    return known.map(({ id }) => byId.get(id) ?? nothingFound);
  };
}

const selectDue = "SELECT due_at FROM heartbeats WHERE id = $1";

const nothingFound: FoundPings = { lastPingAtMs: null, tellingAtMs: null };

type FoundRow = { id: string; last_ping_at: Date | null; announced_at: Date | null };

function toFound({ last_ping_at, announced_at }: FoundRow): FoundPings {
  return {
    lastPingAtMs: last_ping_at?.getTime() ?? null,
    tellingAtMs: announced_at?.getTime() ?? null,
  };
}

function toDate(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

// A Postgres that was restored to an earlier state may know less than the object.
// Rows are locked in one order, that of the ids: two groups never wait for each other.
const lockKnown = `
  WITH known AS (
    SELECT id, at, received_at, due_at
    FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[])
      AS t (id, at, received_at, due_at)
  ), locked AS (
    SELECT h.id, known.at, known.due_at AS known_due_at,
      (h.last_ping_at IS NULL OR h.last_ping_at <= known.at) AS is_known,
      CASE WHEN h.told_at > coalesce(known.received_at, '-infinity') THEN h.told_at END AS announced_at
    FROM heartbeats h JOIN known USING (id) ORDER BY h.id FOR UPDATE OF h
  )`;

// One statement: a ping comes before it and is found, or comes after it and finds the watch set.
const selectPings = `${lockKnown}
  UPDATE heartbeats h SET
    is_watched = h.is_watched OR is_known,
    due_at = CASE
      WHEN is_known AND announced_at IS NULL THEN clock_timestamp() + ${untilFoundAgain}
      ELSE h.due_at
    END
  FROM locked WHERE locked.id = h.id
  RETURNING h.id, h.last_ping_at, announced_at`;

const releaseWatches = `${lockKnown}
  UPDATE heartbeats h SET
    last_ping_at = CASE WHEN is_known THEN at ELSE h.last_ping_at END,
    is_watched = h.is_watched AND (announced_at IS NOT NULL OR NOT is_known),
    due_at = CASE
      WHEN is_known THEN known_due_at ELSE coalesce(h.last_ping_at + h.allowance, h.due_at)
    END
  FROM locked WHERE locked.id = h.id
  RETURNING h.id, h.last_ping_at, announced_at`;
