/**
 * Takes pings into Postgres, written together with those of others. The success of a heartbeat that is ok only moves
 * its deadline: one row's update. All other pings wait in `heartbeat_pings`, and the heartbeat is decided at once.
 */

import { LRUCache } from "lru-cache";
import { inTime } from "#kernel/async.ts";
import type { Database, Queries } from "#kernel/database.ts";
import { createGroups, createJointWrites } from "#kernel/groups.ts";
import { createPaceLimit } from "#kernel/open-limit.ts";
import { aheadInSql } from "#kernel/time.ts";
import type { Heartbeat, Ping } from "#monitor/contract.ts";
import { refuseTaken } from "#monitor/operations/rules.ts";
import { pingPaceMs } from "#monitor/rules/deadline.ts";

/**
 * `token`: its SHA-256 in hex. The time of the ping counts unless it lies ahead of the clock of Postgres, whose time
 * counts then.
 */
type ReceivedPing = { token: string; ping: Ping };

type Parts = {
  database: Database;
  /** Writes successes that need not be decided, as results. */
  recordPings: (pings: readonly { checkId: string; atMs: number }[]) => Promise<void>;
  /** Decides the heartbeat, and takes its waiting pings. */
  decide: (id: string) => Promise<void>;
};

/** Too many came within a second, or wait to be decided. */
export class TooManyPings extends Error {}

export type Inbox = ReturnType<typeof createInbox>;

export function createInbox({ database, recordPings, decide }: Parts) {
  const known = new LRUCache<string, true>({ max: rememberedTokens });
  const isFlood = createPaceLimit(mostEachSecond, rememberedTokens);
  const receive = createGroups((pings: readonly ReceivedPing[]) => receiveAll(database, pings), {
    paceMs: pingPaceMs,
    fullAt: paceEndsAt,
    // Of a token that is known: whoever has none must not break the pace.
    isUrgent: ({ token, ping }) => ping.kind !== "success" && known.has(token),
    failsAlone: true,
  });
  // Its groups are separate: while results are slow or locked, a deadline must not pass because later pings wait.
  const record = createJointWrites(recordPings);
  // A ping that is not decided in time counts all the same: the watch of the states finds it.
  const decideSoon = (id: string) =>
    inTime(() => decide(id), { limitMs: decisionLimitMs, otherwise: undefined });
  return {
    /**
     * Resolves once the ping is committed, and decided or recorded. null: no heartbeat has this token. When it rejects,
     * the ping may count already: what is recorded of it is another commit. Throws `TooManyPings`.
     */
    async receive(received: ReceivedPing): Promise<{ id: string } | null> {
      const isMany = isFlood(received.token);
      // A success always counts, but for its result: it may end an alert.
      if (isMany && received.ping.kind !== "success") throw new TooManyPings();
      const taken = await receive(received);
      if (taken === null) return null;
      known.set(received.token, true);
      const { id, atMs, fate } = taken;
      if (fate === "refused") throw new TooManyPings();
      if (fate === "waits") await decideSoon(id);
      else if (!isMany) await record({ checkId: id, atMs });
      return { id };
    },

    /** Takes a ping of a job of this program or a drill. Throws if it could not be written. */
    async pingOurs(id: string, ping: Ping): Promise<void> {
      await addPing(database, id, ping);
      await decideSoon(id);
    },

    /** Takes pings under this token from now on; `by`: who registers it. Returns whether it replaces another one. */
    async register(
      { id }: Pick<Heartbeat, "id">,
      { token, by }: { token: string; by: string },
    ): Promise<{ replaced: boolean }> {
      const hash = Buffer.from(token, "hex");
      const { rows } = await database.query(saveToken, [id, hash, by]).catch(refuseTaken);
      return { replaced: rows[0]?.replaced === true };
    },
  };
}

/** Reaching this number, pings are written without regard to the pace: at 10,000 pings a second after 25 ms. */
const paceEndsAt = 250;

/** Each may be a decision, a result, and messages to people. */
const mostEachSecond = 20;
const rememberedTokens = 10_000;

/** A job need not wait longer for its answer. */
const decisionLimitMs = 2_000;

/** The most pings of a heartbeat that wait. Then the last success replaces the one before, and others are refused. */
const mostWaiting = 1_000;

/** recorded: it only moves the deadline. waits: it is to be decided. */
type Taken = { id: string; atMs: number; fate: "recorded" | "waits" | "refused" };

async function receiveAll(
  database: Database,
  pings: readonly ReceivedPing[],
): Promise<readonly (Taken | null)[]> {
  const { rows } = await database.query<Taken & { n: number }>({
    name: "receive-pings",
    text: takeAll,
    values: [
      pings.map(({ token }) => token),
      pings.map(({ ping }) => ping.kind),
      pings.map(({ ping }) => ping.atMs),
      pings.map(({ ping }) => (ping.kind === "fail" ? ping.exitCode : null)),
    ],
  });
  const taken: (Taken | null)[] = pings.map(() => null);
  for (const { n, id, atMs, fate } of rows) taken[n] = { id, atMs, fate };
  return taken;
}

// Rows are locked in one order, that of the ids: two groups never wait for each other. A ping waits if its heartbeat is
// watched, which the first start or failure makes it.
const takeAll = `
  WITH now AS (
    SELECT date_trunc('milliseconds', clock_timestamp()) AS at
  ), given AS (
    SELECT decode(t.token, 'hex') AS token, t.kind, t.exit_code, t.n,
      least(to_timestamp(t.ms / 1000.0), now.at) AS at
    FROM now, unnest($1::text[], $2::text[], $3::bigint[], $4::integer[])
      WITH ORDINALITY AS t (token, kind, ms, exit_code, n)
  ), locked AS (
    SELECT id, token_hash, is_watched FROM heartbeats
    WHERE token_hash IN (SELECT token FROM given) ORDER BY id FOR UPDATE
  ), waiting AS (
    SELECT id, count(*) AS n FROM heartbeat_pings
    WHERE id IN (SELECT id FROM locked WHERE is_watched) GROUP BY id
  ), ordered AS (
    SELECT given.*, locked.id,
      locked.is_watched OR bool_or(kind <> 'success') OVER earlier AS waits,
      coalesce(waiting.n, 0) + count(*) OVER earlier > ${mostWaiting} AS is_full,
      kind = 'success' AND row_number() OVER (PARTITION BY locked.id, kind ORDER BY given.n DESC) = 1 AS is_last
    FROM given JOIN locked ON token = token_hash LEFT JOIN waiting USING (id)
    WINDOW earlier AS (PARTITION BY locked.id ORDER BY given.n)
  ), dropped AS (
    DELETE FROM heartbeat_pings p USING ordered
    WHERE waits AND is_full AND is_last AND p.id = ordered.id AND p.kind = 'success'
      AND p.seq = (SELECT max(seq) FROM heartbeat_pings last WHERE last.id = ordered.id)
  ), added AS (
    INSERT INTO heartbeat_pings (id, kind, at, exit_code)
    SELECT id, kind, at, exit_code FROM ordered WHERE waits AND (is_last OR NOT is_full) ORDER BY n
  ), moved AS (
    UPDATE heartbeats h SET
      last_ping_at = CASE
        WHEN ${aheadInSql("h.last_ping_at")} THEN coalesce(pinged.at, h.last_ping_at)
        ELSE greatest(h.last_ping_at, pinged.at)
      END,
      is_watched = h.is_watched OR waits
    FROM (
      SELECT id, max(at) FILTER (WHERE NOT waits) AS at, bool_or(waits) AS waits FROM ordered GROUP BY id
    ) pinged
    WHERE h.id = pinged.id AND (pinged.at IS NOT NULL OR NOT h.is_watched)
  )
  SELECT (n - 1)::integer AS n, id, round(extract(epoch FROM at) * 1000)::float8 AS "atMs",
    CASE
      WHEN NOT waits THEN 'recorded' WHEN is_full AND kind <> 'success' THEN 'refused' ELSE 'waits'
    END AS fate
  FROM ordered`;

/** Adds a ping to those that wait. */
export async function addPing(db: Queries, id: string, ping: Ping): Promise<void> {
  const { exitCode = null, reason = null } = ping.kind === "fail" ? ping : {};
  await db.query(insertPing, [id, ping.kind, ping.atMs, exitCode, reason]);
}

const insertPing = `
  INSERT INTO heartbeat_pings (id, kind, at, exit_code, reason)
  VALUES ($1, $2, least(to_timestamp($3::bigint / 1000.0), clock_timestamp()), $4, $5)`;

const saveToken = `
  WITH before AS (SELECT FROM heartbeats WHERE id = $1)
  INSERT INTO heartbeats (id, token_hash, registered_by) VALUES ($1, $2, $3)
  ON CONFLICT (id) DO UPDATE SET token_hash = excluded.token_hash, registered_by = excluded.registered_by
  RETURNING EXISTS (SELECT FROM before) AS replaced`;

// For the transaction that decides heartbeats, and the watch that starts it.

/** The pings of a heartbeat that its row does not know of. `lastPingAtMs`: of a success that was recorded. */
export type HeldPings = { lastPingAtMs: number | null; hasUrl: boolean; pings: Ping[] };

type PingRow = {
  id: string;
  kind: Ping["kind"];
  at: Date;
  exit_code: number | null;
  reason: string | null;
};

/** Takes out the pings that wait. Until the transaction ends no other ping of these heartbeats is taken. */
export async function takePings(
  tx: Queries,
  ids: readonly string[],
): Promise<Map<string, HeldPings>> {
  const { rows } = await tx.query<{ id: string; last_ping_at: Date | null }>({
    name: "lock-heartbeats",
    text: lockHeartbeats,
    values: [ids],
  });
  const held = new Map<string, HeldPings>(
    rows.map(({ id, last_ping_at }) => [
      id,
      { lastPingAtMs: last_ping_at?.getTime() ?? null, hasUrl: true, pings: [] },
    ]),
  );
  // Another statement: it finds what came while the first one waited for its locks.
  const waiting = await tx.query<PingRow>({ name: "take-pings", text: takeWaiting, values: [ids] });
  for (const row of waiting.rows) {
    const known = held.get(row.id) ?? { lastPingAtMs: null, hasUrl: false, pings: [] };
    held.set(row.id, { ...known, pings: [...known.pings, toPing(row)] });
  }
  return held;
}

function toPing({ kind, at, exit_code: exitCode, reason }: PingRow): Ping {
  const atMs = at.getTime();
  if (kind !== "fail") return { kind, atMs };
  return { kind, atMs, exitCode, ...(reason !== null && { reason }) };
}

const lockHeartbeats =
  "SELECT id, last_ping_at FROM heartbeats WHERE id = ANY ($1) ORDER BY id FOR UPDATE";

const takeWaiting = `
  WITH taken AS (DELETE FROM heartbeat_pings WHERE id = ANY ($1) RETURNING *)
  SELECT id, kind, at, exit_code, reason FROM taken ORDER BY seq`;

/** `lastPingAtMs`: of the last success that was decided; it replaces one of a wrong clock. */
type Watch = { id: string; isWatched: boolean; lastPingAtMs: number | null };

/** Begins or ends the watch of heartbeats that the transaction has locked by `takePings`. */
export async function saveWatched(tx: Queries, watches: readonly Watch[]): Promise<void> {
  if (watches.length === 0) return;
  await tx.query({
    name: "save-watched",
    text: updateWatched,
    values: [
      watches.map(({ id }) => id),
      watches.map(({ isWatched }) => isWatched),
      watches.map(({ lastPingAtMs }) => lastPingAtMs),
    ],
  });
}

const updateWatched = `
  UPDATE heartbeats h SET
    is_watched = given.is_watched,
    last_ping_at = CASE
      WHEN ${aheadInSql("last_ping_at")} THEN to_timestamp(given.ms / 1000.0) ELSE last_ping_at
    END
  FROM unnest($1::text[], $2::boolean[], $3::bigint[]) AS given (id, is_watched, ms)
  WHERE h.id = given.id AND (h.is_watched <> given.is_watched OR ${aheadInSql("last_ping_at")})`;

/** The heartbeats whose pings wait, some hundred at most: a process was killed before it decided them. */
export async function waitingIds(db: Queries): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    "SELECT DISTINCT id FROM heartbeat_pings ORDER BY id LIMIT 500",
  );
  return rows.map(({ id }) => id);
}

/** Deletes pings that wait for what is no heartbeat now. */
export async function dropPings(db: Queries, ids: readonly string[]): Promise<void> {
  await db.query("DELETE FROM heartbeat_pings WHERE id = ANY ($1)", [ids]);
}

/** Takes no more pings by the URLs of these ids: they are drills or API checks now. */
export async function deleteUrls(db: Queries, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await db.query(deleteTokens, [ids]);
}

const deleteTokens = `
  WITH locked AS (SELECT id FROM heartbeats WHERE id = ANY ($1) ORDER BY id FOR UPDATE)
  DELETE FROM heartbeats WHERE id IN (SELECT id FROM locked)`;
