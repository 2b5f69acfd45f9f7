/**
 * Where pings are kept until the heartbeat's object asks for them. An object is told of a ping only
 * while it watches, which it does unless its heartbeat is ok: a job that pings on time costs one
 * row's update, written together with those of others.
 */
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";
import { createGroups } from "#kernel/groups.ts";
import type { Heartbeat } from "#monitor/contract.ts";
import { createIsKnownToken } from "#monitor/known-tokens.ts";
import { refuseTaken } from "#monitor/operations/rules.ts";
import type { Absences } from "#monitor/rules/absences.ts";
import { allowanceMs } from "#monitor/rules/deadline.ts";
import { pingPaceMs, untilAskedAgain } from "./deadlines.ts";
import { readAbsences } from "./presence.ts";

/** `token`: its SHA-256 in hex. */
export type ReceivedPing = { token: string; atMs: number };

/** Whose token it is, and whether its object watches; null: nobody's. */
export type Recipient = { id: string; isWatched: boolean } | null;

export type Inbox = ReturnType<typeof createInbox>;

type Parts = {
  database: Database;
  heartbeats: readonly Heartbeat[];
  /** Keeps pings that no object hears of, as results and in the snapshots of their heartbeats. */
  recordPings: (pings: readonly RecordedPing[]) => Promise<void>;
};

type RecordedPing = { checkId: string; atMs: number; dueAtMs: number };

export function createInbox({ database, heartbeats, recordPings }: Parts) {
  const waitsMs = new Map(heartbeats.map((heartbeat) => [heartbeat.id, allowanceMs(heartbeat)]));
  const receive = createGroups(
    async (pings: readonly ReceivedPing[]) => {
      const recipients = await receiveAll(database, pings);
      const quiet = pings.flatMap(({ atMs }, i) => {
        const recipient = recipients[i];
        const waitMs = waitsMs.get(recipient?.id ?? "");
        if (recipient == null || recipient.isWatched || waitMs === undefined) return [];
        return [{ checkId: recipient.id, atMs, dueAtMs: atMs + waitMs }];
      });
      await recordPings(quiet);
      return recipients;
    },
    { paceMs: pingPaceMs },
  );
  const isKnownToken = createIsKnownToken(database, "heartbeats");
  const release = createGroups((of: readonly KnownPings[]) => releaseAll(database, of));
  const look = createGroups((of: readonly KnownPings[]) => lookAll(database, of));
  return {
    /** Keeps a successful ping. */
    receive: (ping: ReceivedPing): Promise<Recipient> => receive(ping),

    /**
     * Says that the object is about to be told of a start or a failure. From now on it is told of each
     * ping, in turn: none of them may be taken before those that came first. null: nobody's token.
     */
    async announce({ token, atMs }: ReceivedPing): Promise<LastPing | null> {
      const hash = Buffer.from(token, "hex");
      if (!(await isKnownToken(hash))) return null;
      const { rows } = await database.query(announceWord, [hash, new Date(atMs)]);
      const [row] = rows;
      return row === undefined
        ? null
        : { id: row.id, lastPingAtMs: row.last_ping_at?.getTime() ?? null };
    },

    /** Pings since the last known one; the object watches from this moment on. */
    look: (of: KnownPings): Promise<PingReport> => look(of),

    /**
     * Ends the watch: from now on `deadlines.ts` looks whether pings come. What the caller did not know
     * of, or is about to be told of, leaves the watch as it is.
     */
    release: (of: KnownPings): Promise<FoundPings> => release(of),

    /** Takes pings under this token from now on. Answers whether there was another one. */
    async register(id: string, token: string): Promise<{ replaced: boolean }> {
      const { rows } = await database
        .query(saveToken, [id, Buffer.from(token, "hex"), waitsMs.get(id)])
        .catch(refuseTaken);
      return { replaced: rows[0]?.replaced === true };
    },
  };
}

/** `lastPingAtMs`: of the last success, or before which none counts; null: none. */
export type LastPing = { id: string; lastPingAtMs: number | null };

/** What an object knows; `toldAtMs`: the last start or failure that it was told of; null: none. */
export type KnownPings = LastPing & { toldAtMs: number | null };

export type FoundPings = {
  lastPingAtMs: number | null;
  /**
   * The last start or failure that was announced and of which the object has not heard: the last ping
   * may be later, and must not overtake it. null: it has heard of all.
   */
  tellingAtMs: number | null;
};

/** And when nobody listened for pings until now. */
export type PingReport = FoundPings & { absences: Absences };

async function receiveAll(
  database: Database,
  pings: readonly ReceivedPing[],
): Promise<readonly Recipient[]> {
  const { rows } = await database.query(savePings, [
    pings.map(({ token }) => Buffer.from(token, "hex")),
    pings.map(({ atMs }) => new Date(atMs)),
  ]);
  const byToken = new Map<string, Recipient>(
    rows.map(({ token, id, is_watched }) => [token, { id, isWatched: is_watched }]),
  );
  return pings.map(({ token }) => byToken.get(token) ?? null);
}

async function lookAll(
  database: Database,
  of: readonly KnownPings[],
): Promise<readonly PingReport[]> {
  const { rows } = await database.query(lookForPings, toColumns(of));
  const byId = new Map(rows.map((row) => [row.id, toFound(row)]));
  const absences = await readAbsences(database);
  return of.map(({ id }) => ({ ...(byId.get(id) ?? nothingFound), absences }));
}

async function releaseAll(
  database: Database,
  of: readonly KnownPings[],
): Promise<readonly FoundPings[]> {
  const { rows } = await database.query(releaseWatches, toColumns(of));
  const byId = new Map(rows.map((row) => [row.id, toFound(row)]));
  return of.map(({ id }) => byId.get(id) ?? nothingFound);
}

const nothingFound: FoundPings = { lastPingAtMs: null, tellingAtMs: null };

type FoundRow = { last_ping_at: Date | null; telling_at: Date | null };

function toFound({ last_ping_at, telling_at }: FoundRow): FoundPings {
  return {
    lastPingAtMs: last_ping_at?.getTime() ?? null,
    tellingAtMs: telling_at?.getTime() ?? null,
  };
}

/** As `readKnown` takes them. */
function toColumns(of: readonly KnownPings[]): unknown[] {
  return [
    of.map(({ id }) => id),
    of.map(({ lastPingAtMs }) => toDate(lastPingAtMs)),
    of.map(({ toldAtMs }) => toDate(toldAtMs)),
  ];
}

function toDate(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

/** A ping that was noted while a clock was ahead says nothing, and must not hide those that come. */
const isWrong = aheadInSql("h.last_ping_at");

const lastPing = `CASE WHEN ${isWrong} THEN NULL ELSE h.last_ping_at END AS last_ping_at`;

// Rows are locked in one order, that of the ids: two groups never wait for each other.
const savePings = `
  WITH given AS (
    SELECT token, max(at) AS at FROM unnest($1::bytea[], $2::timestamptz[]) AS t (token, at)
    GROUP BY token
  ), locked AS (
    SELECT h.id, given.at FROM heartbeats h JOIN given ON given.token = h.token_hash
    ORDER BY h.id FOR UPDATE OF h
  )
  UPDATE heartbeats h SET
    last_ping_at = CASE WHEN ${isWrong} THEN locked.at ELSE greatest(h.last_ping_at, locked.at) END
  FROM locked WHERE h.id = locked.id
  RETURNING h.id, h.is_watched, encode(h.token_hash, 'hex') AS token`;

const announceWord = `
  UPDATE heartbeats h SET
    is_watched = true,
    told_at = CASE WHEN ${aheadInSql("h.told_at")} THEN $2 ELSE greatest(h.told_at, $2) END
  WHERE token_hash = $1
  RETURNING h.id, ${lastPing}`;

// A Postgres that was set back to an earlier state may know less than the object.
const isKnown = `(h.last_ping_at IS NULL OR h.last_ping_at <= known.at OR ${isWrong})`;

const tellingAt = `
  CASE WHEN h.told_at > coalesce(known.told_at, '-infinity') AND NOT ${aheadInSql("h.told_at")}
    THEN h.told_at END AS telling_at`;

const readKnown = `
  SELECT id, at, told_at
  FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) AS t (id, at, told_at)`;

// One statement, so that a ping comes before it and is seen, or after it and finds the watch.
const lookForPings = `
  WITH known AS (${readKnown}), locked AS (
    SELECT h.id, ${isKnown} AS is_known, ${tellingAt}
    FROM heartbeats h JOIN known USING (id) ORDER BY h.id FOR UPDATE OF h
  )
  UPDATE heartbeats h SET
    is_watched = h.is_watched OR is_known,
    due_at = CASE
      WHEN is_known AND telling_at IS NULL THEN clock_timestamp() + ${untilAskedAgain}
      ELSE h.due_at
    END
  FROM locked
  WHERE h.id = locked.id
  RETURNING h.id, ${lastPing}, telling_at`;

const releaseWatches = `
  WITH known AS (${readKnown}), locked AS (
    SELECT h.id, known.at, ${isKnown} AS is_known, ${tellingAt}
    FROM heartbeats h JOIN known USING (id) ORDER BY h.id FOR UPDATE OF h
  )
  UPDATE heartbeats h SET
    last_ping_at = CASE WHEN is_known THEN at ELSE h.last_ping_at END,
    is_watched = h.is_watched AND (telling_at IS NOT NULL OR NOT is_known),
    due_at = coalesce(CASE WHEN is_known THEN at ELSE h.last_ping_at END + h.allowance, h.due_at)
  FROM locked WHERE locked.id = h.id
  RETURNING h.id, ${lastPing}, telling_at`;

const saveToken = `
  WITH before AS (SELECT count(*) AS tokens FROM heartbeats WHERE id = $1)
  INSERT INTO heartbeats (id, token_hash, allowance, due_at)
  VALUES ($1, $2, $3::float8 * interval '1 ms', clock_timestamp() + ${untilAskedAgain})
  ON CONFLICT (id) DO UPDATE SET token_hash = excluded.token_hash
  RETURNING (SELECT tokens > 0 FROM before) AS replaced`;
