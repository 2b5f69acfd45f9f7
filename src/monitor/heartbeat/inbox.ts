/**
 * Keeps pings in Postgres until the heartbeat's object reads them. An object is called with a ping only while
 * its heartbeat is watched, which it is unless it is ok: the ping of a job that is on time costs one row's
 * update, written together with those of others.
 */
import type { Database } from "#kernel/database.ts";
import { createGroups, createJointWrites } from "#kernel/groups.ts";
import type { Heartbeat, ReadDefinitions } from "#monitor/contract.ts";
import { createIsKnownToken } from "#monitor/known-tokens.ts";
import { refuseTaken } from "#monitor/operations/rules.ts";
import type { Absences } from "#monitor/rules/absences.ts";
import { allowanceMs, timesAfterPing } from "#monitor/rules/deadline.ts";
import { pingPaceMs, untilFoundAgain } from "./deadlines.ts";
import { readAbsences } from "./presence.ts";

// Finds pings that the object of a watched heartbeat was not called with, and ends the watch.

/**
 * The pings that an object knows: the time of the last success, or before which none counts, and that of the last start
 * or failure that it has received. null: none.
 */
type KnownPings = {
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

function createWatches(database: Database) {
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

/** `token`: its SHA-256 in hex. `atMs` counts unless it lies ahead of the clock of Postgres, whose time counts then. */
type ReceivedPing = { token: string; atMs: number };

/** `by`: who registers the heartbeat, or replaces its token. */
type Registration = Pick<ReceivedPing, "token"> & { by: string };

/** The heartbeat of a token, whether it is watched, and the time that counts; null: no heartbeat has this token. */
type Recipient = { id: string; isWatched: boolean; atMs: number } | null;

export type Inbox = ReturnType<typeof createInbox>;

type Parts = {
  database: Database;
  readDefinitions: ReadDefinitions;
  /** Writes pings with which no object is called, as results and in the snapshots of their heartbeats. */
  recordPings: (pings: readonly RecordedPing[]) => Promise<void>;
};

type TakenPing = { id: string; atMs: number };

type RecordedPing = { checkId: string; atMs: number; dueAtMs: number; expectedAtMs?: number };

export function createInbox({ database, readDefinitions, recordPings }: Parts) {
  const readHeartbeats = createReadHeartbeats(readDefinitions);
  const receive = createGroups((pings: readonly ReceivedPing[]) => receiveAll(database, pings), {
    paceMs: pingPaceMs,
    fullAt: paceEndsAt,
    failsAlone: true,
  });
  // Its groups are separate: while definitions or results are slow or locked, a deadline must not pass because the
  // pings after these wait.
  const record = createJointWrites(async (pings: readonly TakenPing[]) => {
    const heartbeats = await readHeartbeats();
    const plain = pings.flatMap(({ id, atMs }) => {
      const heartbeat = heartbeats.get(id);
      if (heartbeat === undefined) return [];
      return [{ checkId: id, atMs, ...timesAfterPing(heartbeat, atMs) }];
    });
    await recordPings(plain);
  });
  const isKnownToken = createIsKnownToken(database, "heartbeats");
  return {
    ...createWatches(database),

    /**
     * Writes a successful ping. Resolves once it is committed, and what is recorded of it as well. Those are two
     * commits: when it rejects, the ping may count already.
     */
    async receive(ping: ReceivedPing): Promise<Recipient> {
      const recipient = await receive(ping);
      if (recipient?.isWatched === false) await record(recipient);
      return recipient;
    },

    /**
     * Records that the object is about to be called with a start or a failure. From now on the heartbeat is
     * watched, and its object called with each ping in turn: none may be taken before those that came first.
     * null: no heartbeat has this token.
     */
    async announce({ token, atMs }: ReceivedPing): Promise<Announcement | null> {
      const hash = Buffer.from(token, "hex");
      if (!(await isKnownToken(hash))) return null;
      const { rows } = await database.query(saveAnnouncement, [hash, new Date(atMs)]);
      const [row] = rows;
      return row === undefined
        ? null
        : { id: row.id, atMs: row.at.getTime(), lastPingAtMs: row.last_ping_at?.getTime() ?? null };
    },

    /** Takes pings under this token from now on. Returns whether there was another one. */
    async register(
      heartbeat: Heartbeat,
      { token, by }: Registration,
    ): Promise<{ replaced: boolean }> {
      const hash = Buffer.from(token, "hex");
      const { rows } = await database
        .query(saveToken, [heartbeat.id, hash, allowanceMs(heartbeat), by])
        .catch(refuseTaken);
      return { replaced: rows[0]?.replaced === true };
    },

    /**
     * No longer expects pings of our own. Returns whether there is a ping URL, which still counts.
     */
    async withdraw(id: string): Promise<boolean> {
      await database.query(deleteOurs, [id]);
      const { rows } = await database.query("SELECT id FROM heartbeats WHERE id = $1", [id]);
      return rows.length > 0;
    },
  };
}

/** Reaching this number, pings are written without regard to the pace: at 10,000 pings a second after 25 ms. */
const paceEndsAt = 250;

/** By id; computed once for the same definitions, since each group of pings asks. */
function createReadHeartbeats(readDefinitions: ReadDefinitions) {
  let last: { of: readonly Heartbeat[]; byId: ReadonlyMap<string, Heartbeat> } | undefined;
  return async (): Promise<ReadonlyMap<string, Heartbeat>> => {
    const { heartbeats } = await readDefinitions();
    if (last?.of !== heartbeats) {
      last = { of: heartbeats, byId: new Map(heartbeats.map((one) => [one.id, one])) };
    }
    return last.byId;
  };
}

/** `atMs`: the time that counts. `lastPingAtMs`: of the last success; null: none. */
type Announcement = Pick<KnownPings, "id" | "lastPingAtMs"> & { atMs: number };

async function receiveAll(
  database: Database,
  pings: readonly ReceivedPing[],
): Promise<readonly Recipient[]> {
  const { rows } = await database.query({
    name: "receive-pings",
    text: savePings,
    values: [pings.map(({ token }) => token), pings.map(({ atMs }) => atMs)],
  });
  const byToken = new Map(rows.map((row) => [row.token, row]));
  return pings.map(({ token, atMs }) => {
    const row = byToken.get(token);
    if (row === undefined) return null;
    return { id: row.id, isWatched: row.is_watched, atMs: Math.min(atMs, row.now_ms) };
  });
}

// Rows are locked in one order, that of the ids: two groups never wait for each other.
const savePings = `
  WITH now AS (
    SELECT date_trunc('milliseconds', clock_timestamp()) AS at
  ), given AS (
    SELECT decode(token, 'hex') AS token, least(to_timestamp(max(t.at) / 1000.0), (SELECT at FROM now)) AS at
    FROM unnest($1::text[], $2::bigint[]) AS t (token, at) GROUP BY token
  ), locked AS (
    SELECT h.id, given.at FROM heartbeats h JOIN given ON given.token = h.token_hash
    ORDER BY h.id FOR UPDATE OF h
  )
  UPDATE heartbeats h SET last_ping_at = greatest(h.last_ping_at, locked.at)
  FROM locked, now WHERE h.id = locked.id
  RETURNING h.id, h.is_watched, encode(h.token_hash, 'hex') AS token,
    round(extract(epoch FROM now.at) * 1000)::float8 AS now_ms`;

const saveAnnouncement = `
  WITH given AS (SELECT least($2::timestamptz, date_trunc('milliseconds', clock_timestamp())) AS at)
  UPDATE heartbeats h SET is_watched = true, told_at = greatest(h.told_at, given.at)
  FROM given WHERE token_hash = $1
  RETURNING h.id, given.at, h.last_ping_at`;

const deleteOurs = "DELETE FROM heartbeats WHERE id = $1 AND token_hash IS NULL";

const saveToken = `
  WITH before AS (SELECT count(*) AS tokens FROM heartbeats WHERE id = $1 AND token_hash IS NOT NULL)
  INSERT INTO heartbeats (id, token_hash, allowance, due_at, registered_by)
  VALUES ($1, $2, $3::float8 * interval '1 ms', clock_timestamp() + ${untilFoundAgain}, $4)
  ON CONFLICT (id) DO UPDATE SET token_hash = excluded.token_hash, registered_by = excluded.registered_by
  RETURNING (SELECT tokens > 0 FROM before) AS replaced`;
