/** Sends each sealed row of the audit log to a channel, in order and at least once, from a cursor in Postgres on. */
import type { Registry } from "prom-client";
import { startLoop } from "#kernel/async.ts";
import { exposeCounted } from "#kernel/counted-gauge.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { escapeUnit } from "#kernel/text.ts";
import { readSealed, type SealedRow } from "./chain.ts";

/** `error`: why there is no answer, without address and secret. */
type Answer = { status: number } | { error: string };

type Parts = {
  /** The id of a channel of the kind webhook or syslog; empty: rows are sent nowhere. */
  channel: string;
  send: (channel: string, batch: ReturnType<typeof toBatch>) => Promise<Answer>;
  log: Log;
};

const pollEveryMs = 1_000;
const mostRows = 100;
/** Of one request, if it has several rows. */
const mostBytes = 200_000;
/** Longer than an attempt may take: another process sends the rows of a killed one again after that. */
const leaseSeconds = 75;

/** Several processes may do so: one sends at a time. */
export function startDelivery(database: Database, parts: Parts): { stop: () => Promise<void> } {
  const { channel, log } = parts;
  let isPrepared = false;
  let hasFailed = false;
  const work = async () => {
    if (!isPrepared) await prepare(database, channel);
    isPrepared = true;
    if (channel === "" || (await deliverNext(database, parts)) === 0) return false;
    if (hasFailed) log.info({ channel }, "audit log sent again");
    hasFailed = false;
    return true;
  };
  return startLoop(work, {
    pauseMs: pollEveryMs,
    onFailed: ({ message: detail }) => {
      hasFailed = true;
      log.warn({ channel, detail }, "audit log not sent");
    },
  });
}

/** There is no value without a channel. */
export function exposeUndelivered(database: Database, registry: Registry): void {
  exposeCounted(
    { database, registry },
    {
      name: "vedette_audit_undelivered_rows",
      help: "Sealed rows of the audit log that its channel has not accepted yet.",
      labelNames: ["channel"],
      query: countUndelivered,
    },
  );
}

const countUndelivered = `
  SELECT d.channel, (h.seq - d.seq)::float8 AS value FROM audit_deliveries AS d CROSS JOIN audit_head AS h`;

/** A channel that is new here starts with the first row; for one that is no longer set no row has to stay. */
async function prepare(database: Database, channel: string): Promise<void> {
  await database.query("DELETE FROM audit_deliveries WHERE channel <> $1", [channel]);
  if (channel === "") return;
  await database.query(
    "INSERT INTO audit_deliveries (channel, seq) VALUES ($1, 0) ON CONFLICT DO NOTHING",
    [channel],
  );
}

/** Returns how many rows were accepted; 0: there are none, or another process sends them. Throws when they were not. */
export async function deliverNext(database: Database, { channel, send }: Parts): Promise<number> {
  const { rows } = await database.query<{ seq: number }>(take, [channel, leaseSeconds]);
  const after = rows[0]?.seq;
  if (after === undefined) return 0;
  let last = after;
  try {
    const all = await readSealed(database, { after, limit: mostRows });
    const batch = cutToSize(all);
    const end = batch.at(-1)?.cursor;
    if (end === undefined) return 0;
    const answer = await send(channel, toBatch(`audit_${after + 1}_${end}`, batch));
    if ("error" in answer) throw new Error(answer.error);
    if (answer.status < 200 || answer.status > 299) throw new Error(`status ${answer.status}`);
    last = end;
    return batch.length;
  } finally {
    await database.query(release, [channel, after, last]);
  }
}

/** As many of the first ones as one request takes; at least one. */
function cutToSize(rows: readonly SealedRow[]): SealedRow[] {
  let bytes = 0;
  const tooLong = rows.findIndex((row, i) => {
    bytes += Buffer.byteLength(JSON.stringify(row));
    return i > 0 && bytes > mostBytes;
  });
  return tooLong < 0 ? [...rows] : rows.slice(0, tooLong);
}

/** `id`: without a dot, the same for the same rows. A channel takes the body or the lines: only that is made. */
function toBatch(id: string, rows: readonly SealedRow[]) {
  return {
    id,
    get body() {
      return JSON.stringify({ id, type: "audit.rows", data: { rows } });
    },
    get lines() {
      return rows.map(toLine);
    },
  };
}

/** The row as a line of syslog. */
export function toLine(row: SealedRow) {
  const { cursor, hash, event, actor, time } = row;
  return {
    facility: "audit" as const,
    severity: event.endsWith(".refused") ? ("warning" as const) : ("notice" as const),
    atMs: Date.parse(time),
    event,
    data: { seq: String(cursor), hash, actor: actor.id },
    text: cutText(row),
  };
}

/** Rsyslog cuts a line after 8,096 bytes unless told otherwise; up to 1,250 of it are before the text. */
const mostText = 6_800;
/** In this order, until the rest is short enough: `audit export` has all. */
const dispensable = ["meta", "targets", "user_agent", "description"] as const;

/** The row as JSON in ASCII: JSON has no byte order mark, with which a text of syslog begins if it is UTF-8. */
function cutText(row: SealedRow): string {
  for (let count = 0; ; count += 1) {
    const omitted = dispensable.slice(0, count);
    const cut = Object.fromEntries(omitted.map((name) => [name, undefined]));
    const text = JSON.stringify({ ...row, ...cut, ...(count > 0 && { omitted }) });
    const ascii = text.replace(/[^ -~]/g, escapeUnit);
    if (ascii.length <= mostText || count === dispensable.length) return ascii;
  }
}

const take = `
  UPDATE audit_deliveries SET leased_until = clock_timestamp() + make_interval(secs => $2)
  WHERE channel = $1 AND (leased_until IS NULL OR leased_until < clock_timestamp())
    AND seq < (SELECT seq FROM audit_head)
  RETURNING seq::float8 AS seq`;

/** Nothing if another process has taken the rows meanwhile and has sent some. */
const release = `
  UPDATE audit_deliveries SET seq = $3, leased_until = NULL WHERE channel = $1 AND seq = $2`;
