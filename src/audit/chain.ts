/**
 * Seals rows of the audit log: each gets the next place and a hash over its content and the hash before it. In the
 * background, so that writers wait for no lock of each other; in the order of commits, so that no row comes later.
 */
import { createHash } from "node:crypto";
import type { ClientBase } from "pg";
import { z } from "zod";
import { startLoop } from "#kernel/async.ts";
import { actorOf, recordAudit } from "#kernel/audit.ts";
import { type Database, inSnapshot, inTransaction, type Queries } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";

const Content = z.object({
  id: z.string(),
  /** UTC, to the microsecond. */
  time: z.string(),
  workspace_id: z.string().nullable(),
  event: z.string(),
  description: z.string(),
  actor: z.object({ type: z.string(), id: z.string() }),
  remote_ip: z.string().nullable(),
  user_agent: z.string().nullable(),
  request_id: z.string().nullable(),
  targets: z.array(z.unknown()),
  meta: z.record(z.string(), z.unknown()).nullable(),
});
type Content = z.infer<typeof Content>;

const Sealed = z.object({ cursor: z.int(), hash: z.string(), ...Content.shape });
/** A row with its place. `hash`: SHA-256, in hex, of the row without it and with `previous`, as canonical JSON. */
export type SealedRow = z.infer<typeof Sealed>;

/** A place in the chain: 0 and zeros before the first row. */
export type Place = { cursor: number; hash: string };

export const start: Place = { cursor: 0, hash: "0".repeat(64) };

const content = `id, to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS time, workspace_id, event,
  description, jsonb_build_object('type', actor_type, 'id', actor_id) AS actor, remote_ip, user_agent, request_id,
  targets, meta`;

/** The hash of a row in its place. Pure. */
export function hashOf(row: Content & { cursor: number }, previous: string): string {
  const { hash: _, ...hashed } = { hash: "", ...row, previous };
  return createHash("sha256").update(canonicalJson(hashed)).digest("hex");
}

/** JSON with sorted keys and without spaces (RFC 8785). */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const fields = Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, part]) => `${JSON.stringify(name)}:${canonicalJson(part)}`);
  return `{${fields.join(",")}}`;
}

const mostAtOnce = 1_000;

/** Seals rows that were committed, and returns how many: fewer than a thousand are all of them. */
export async function seal(database: Database): Promise<number> {
  const { rows } = await database.query(
    "SELECT EXISTS (SELECT FROM audit_log WHERE seq IS NULL) AS some",
  );
  return rows[0].some ? inTransaction(database, sealWithin) : 0;
}

async function sealWithin(transaction: ClientBase): Promise<number> {
  // One process at a time: the next one waits here, and then sees what this one has sealed.
  const head = await readHead(transaction as Queries, "FOR UPDATE");
  const { rows } = await transaction.query(
    `SELECT ${content} FROM audit_log WHERE seq IS NULL ORDER BY audit_log.time, id LIMIT ${mostAtOnce} FOR UPDATE`,
  );
  let last = head;
  const places = rows.map((row) => {
    const cursor = last.cursor + 1;
    last = { cursor, hash: hashOf({ ...Content.parse(row), cursor }, last.hash) };
    return { id: row.id, ...last };
  });
  if (places.length === 0) return 0;
  await transaction.query(storePlaces, [
    places.map(({ id }) => id),
    places.map(({ cursor }) => cursor),
    places.map(({ hash }) => hash),
  ]);
  await transaction.query("UPDATE audit_head SET seq = $1, hash = decode($2, 'hex')", [
    last.cursor,
    last.hash,
  ]);
  return places.length;
}

const storePlaces = `
  UPDATE audit_log AS a SET seq = t.seq, hash = decode(t.hash, 'hex')
  FROM unnest($1::text[], $2::bigint[], $3::text[]) AS t (id, seq, hash) WHERE a.id = t.id`;

export async function readHead(
  queries: Pick<Queries, "query">,
  lock: "" | "FOR UPDATE" = "",
): Promise<Place> {
  const { rows } = await queries.query<Place>(
    `SELECT seq::float8 AS cursor, encode(hash, 'hex') AS hash FROM audit_head ${lock}`,
  );
  const [head] = rows;
  if (head === undefined) throw new Error("the table audit_head has lost its only row");
  return head;
}

/** Sealed rows after a place, in their order. */
export async function readSealed(
  queries: Pick<Queries, "query">,
  { after, limit }: { after: number; limit: number },
): Promise<SealedRow[]> {
  const { rows } = await queries.query(
    `SELECT seq::float8 AS cursor, encode(hash, 'hex') AS hash, ${content}
     FROM audit_log WHERE seq > $1 ORDER BY seq LIMIT $2`,
    [after, limit],
  );
  return rows.map((row) => Sealed.parse(row));
}

const sealEveryMs = 500;

const removeEveryMs = 60_000;

/** Seals what any process writes, within a second, as long as Postgres answers. `keepDays` 0: nothing is removed. */
export function startSealing(
  database: Database,
  log: Log,
  keepDays: number,
): { stop: () => Promise<void> } {
  let removeAtMs = 0;
  const work = async () => {
    if ((await seal(database)) === mostAtOnce) return true;
    if (keepDays === 0 || performance.now() < removeAtMs) return false;
    const isMore = (await removeOld(database, keepDays)) === mostRemoved;
    removeAtMs = performance.now() + (isMore ? 0 : removeEveryMs);
    return isMore;
  };
  return startLoop(work, {
    pauseMs: sealEveryMs,
    onFailed: ({ message: detail }) => log.warn({ detail }, "audit log not sealed"),
  });
}

/** `through`: the last of several rows that are missing one after the other. */
export type Fault =
  | { state: "missing"; cursor: number; through: number }
  | { state: "changed"; cursor: number; id: string; time: string };

/** Compares a row with the one before it. Pure; undefined: it continues the chain. */
export function findFault(previous: Place, row: SealedRow): Fault | undefined {
  const { cursor, hash, id, time } = row;
  const next = previous.cursor + 1;
  if (cursor !== next) return { state: "missing", cursor: next, through: cursor - 1 };
  if (hash !== hashOf(row, previous.hash)) return { state: "changed", cursor, id, time };
  return undefined;
}

export type Verdict = Fault | { state: "intact"; rows: number; first: number | null; head: Place };

/** Walks the whole chain. `known`: a place that was noted elsewhere, which has to be in it. */
export async function verify(database: Database, known?: Place): Promise<Verdict> {
  while ((await seal(database)) > 0);
  return inSnapshot(database, async (snapshot) => {
    const head = await readHead(snapshot);
    const [first] = await readSealed(snapshot, { after: 0, limit: 1 });
    const before = (await findRemoved(snapshot, first)) ?? start;
    const { fault, last } = await walk(snapshot, before, known);
    if (fault !== undefined) return fault;
    const end = Math.max(head.cursor, known?.cursor ?? 0);
    if (last.cursor < end) return { state: "missing", cursor: last.cursor + 1, through: end };
    const { cursor, hash } = last;
    const rows = cursor - before.cursor;
    return { state: "intact", rows, first: first?.cursor ?? null, head: { cursor, hash } };
  });
}

async function walk(queries: Pick<Queries, "query">, from: Place, known: Place | undefined) {
  let last = from;
  for (;;) {
    const rows = await readSealed(queries, { after: last.cursor, limit: mostAtOnce });
    for (const row of rows) {
      const fault = findFault(last, row) ?? findOther(row, known);
      if (fault !== undefined) return { fault, last };
      last = row;
    }
    if (rows.length < mostAtOnce) return { last };
  }
}

const removedEvent = "audit.removed";

/** The last place before the first row, if a row of the chain says that all rows up to there were removed. */
async function findRemoved(
  queries: Pick<Queries, "query">,
  first: SealedRow | undefined,
): Promise<Place | undefined> {
  if (first === undefined || first.cursor === 1) return undefined;
  const { rows } = await queries.query<{ hash: string }>(
    `SELECT meta ->> 'hash' AS hash FROM audit_log
     WHERE event = $1 AND seq IS NOT NULL AND meta ->> 'through' = $2 LIMIT 1`,
    [removedEvent, String(first.cursor - 1)],
  );
  return rows[0] && { cursor: first.cursor - 1, hash: rows[0].hash };
}

const mostRemoved = 10_000;

/**
 * Removes the oldest rows that are older than `keepDays`, and that every channel has got, and records it: so the chain
 * says where it starts. Returns how many; as many as `mostRemoved`: there are more.
 */
export function removeOld(database: Database, keepDays: number): Promise<number> {
  return inTransaction(database, async (transaction) => {
    while ((await sealWithin(transaction)) > 0);
    const { rows } = await transaction.query<Place>(findOld, [keepDays]);
    const [last] = rows;
    if (last === undefined) return 0;
    const { cursor, hash } = last;
    await recordAudit(transaction, [
      {
        event: removedEvent,
        description: `Removed rows up to ${cursor}, which were older than ${keepDays} days`,
        actor: actorOf(null),
        targets: [],
        meta: { through: cursor, hash },
      },
    ]);
    await sealWithin(transaction);
    const removed = await transaction.query("DELETE FROM audit_log WHERE seq <= $1", [cursor]);
    return removed.rowCount ?? 0;
  });
}

/** Places follow the order of commits: an older row behind a newer one waits for it. */
const findOld = `
  WITH oldest AS (SELECT seq, hash, time FROM audit_log WHERE seq IS NOT NULL ORDER BY seq LIMIT ${mostRemoved})
  SELECT seq::float8 AS cursor, encode(hash, 'hex') AS hash FROM oldest
  WHERE seq < coalesce((SELECT min(seq) FROM oldest WHERE time >= now() - make_interval(days => $1)), 'infinity'::float8)
    AND seq <= coalesce((SELECT min(seq) FROM audit_deliveries), seq)
  ORDER BY seq DESC LIMIT 1`;

/** A row that was made anew, with all that follow it, has another hash than was noted. */
function findOther({ cursor, hash, id, time }: SealedRow, known?: Place): Fault | undefined {
  const isOther = known?.cursor === cursor && known.hash !== hash;
  return isOther ? { state: "changed", cursor, id, time } : undefined;
}
