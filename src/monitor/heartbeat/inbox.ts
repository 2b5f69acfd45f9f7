/**
 * Keeps pings in Postgres until the heartbeat's object reads them. An object is called with a ping only while
 * its heartbeat is watched, which it is unless it is ok: the ping of a job that is on time costs one row's
 * update, written together with those of others.
 */
import { aheadInSql } from "#kernel/clock-fault.ts";
import type { Database } from "#kernel/database.ts";
import { createGroups, createJointWrites } from "#kernel/groups.ts";
import type { Heartbeat, ReadDefinitions } from "#monitor/contract.ts";
import { createIsKnownToken } from "#monitor/known-tokens.ts";
import { refuseTaken } from "#monitor/operations/rules.ts";
import { allowanceMs, timesAfterPing } from "#monitor/rules/deadline.ts";
import { pingPaceMs, untilFoundAgain } from "./deadlines.ts";
import { createWatches, isPingAhead, type KnownPings, lastPing } from "./watches.ts";

/** `token`: its SHA-256 in hex. */
export type ReceivedPing = { token: string; atMs: number };

/** `by`: who registers the heartbeat, or replaces its token. */
type Registration = Pick<ReceivedPing, "token"> & { by: string };

/** The heartbeat of a token, and whether it is watched; null: no heartbeat has this token. */
export type Recipient = { id: string; isWatched: boolean } | null;

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
  // In groups of its own: while definitions or results are slow or locked, a deadline must not pass because the pings
  // after these wait.
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
      if (recipient?.isWatched === false) await record({ id: recipient.id, atMs: ping.atMs });
      return recipient;
    },

    /**
     * Records that the object is about to be called with a start or a failure. From now on the heartbeat is
     * watched, and its object called with each ping in turn: none may be taken before those that came first.
     * null: no heartbeat has this token.
     */
    async announce({ token, atMs }: ReceivedPing): Promise<LastPing | null> {
      const hash = Buffer.from(token, "hex");
      if (!(await isKnownToken(hash))) return null;
      const { rows } = await database.query(saveAnnouncement, [hash, new Date(atMs)]);
      const [row] = rows;
      return row === undefined
        ? null
        : { id: row.id, lastPingAtMs: row.last_ping_at?.getTime() ?? null };
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

/** As soon as so many wait they are written, without regard to the pace: at 10,000 pings a second after 25 ms. */
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

/** `lastPingAtMs`: of the last success; null: none. */
type LastPing = Pick<KnownPings, "id" | "lastPingAtMs">;

async function receiveAll(
  database: Database,
  pings: readonly ReceivedPing[],
): Promise<readonly Recipient[]> {
  const { rows } = await database.query({
    name: "receive-pings",
    text: savePings,
    values: [pings.map(({ token }) => token), pings.map(({ atMs }) => atMs)],
  });
  const byToken = new Map<string, Recipient>(
    rows.map(({ token, id, is_watched }) => [token, { id, isWatched: is_watched }]),
  );
  return pings.map(({ token }) => byToken.get(token) ?? null);
}

// Rows are locked in one order, that of the ids: two groups never wait for each other.
const savePings = `
  WITH given AS (
    SELECT decode(token, 'hex') AS token, to_timestamp(max(at) / 1000.0) AS at
    FROM unnest($1::text[], $2::bigint[]) AS t (token, at) GROUP BY token
  ), locked AS (
    SELECT h.id, given.at FROM heartbeats h JOIN given ON given.token = h.token_hash
    ORDER BY h.id FOR UPDATE OF h
  )
  UPDATE heartbeats h SET
    last_ping_at = CASE WHEN ${isPingAhead} THEN locked.at ELSE greatest(h.last_ping_at, locked.at) END
  FROM locked WHERE h.id = locked.id
  RETURNING h.id, h.is_watched, encode(h.token_hash, 'hex') AS token`;

const saveAnnouncement = `
  UPDATE heartbeats h SET
    is_watched = true,
    told_at = CASE WHEN ${aheadInSql("h.told_at")} THEN $2 ELSE greatest(h.told_at, $2) END
  WHERE token_hash = $1
  RETURNING h.id, ${lastPing}`;

const deleteOurs = "DELETE FROM heartbeats WHERE id = $1 AND token_hash IS NULL";

const saveToken = `
  WITH before AS (SELECT count(*) AS tokens FROM heartbeats WHERE id = $1 AND token_hash IS NOT NULL)
  INSERT INTO heartbeats (id, token_hash, allowance, due_at, registered_by)
  VALUES ($1, $2, $3::float8 * interval '1 ms', clock_timestamp() + ${untilFoundAgain}, $4)
  ON CONFLICT (id) DO UPDATE SET token_hash = excluded.token_hash, registered_by = excluded.registered_by
  RETURNING (SELECT tokens > 0 FROM before) AS replaced`;
