/** The table `sentinel_counts`: a row for each minute of a fleet, with the counts of all sentinels compressed. */
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import type { Database } from "#kernel/database.ts";
import { type CountedMinute, fixedColumns, notReported, ownBound } from "./counters.ts";

const pack = promisify(zstdCompress);
const unpack = promisify(zstdDecompress);

export const minuteMs = 60_000;

/** The counts of one sentinel in each minute; NaN: not reported. */
type SentinelMinutes = Record<"requests" | "errors" | "slow" | "restarts", Float64Array>;

/** Times are Unix ms of the start of a minute; `to` is not part of it. */
type Span = { from: number; to: number };

/** `boundAt`: slow requests are those above the first bound that was chosen from then on. */
export type CountsWanted = { ids: readonly string[]; spans: readonly Span[]; boundAt: number };

/** `sentinels`: as the ids, with one span after the other; they end with the last stored minute. `first`: the oldest stored. */
export type CountsRead = { sentinels: SentinelMinutes[]; first: number | undefined };

export type CountStore = ReturnType<typeof createCountStore>;

export function createCountStore(database: Database) {
  return {
    /** Claims a minute for this process; false: another has it. Deletes those of more than two days before, of any fleet. */
    async claim(fleet: string, minute: number): Promise<boolean> {
      const { rowCount } = await database.query(claimMinute, [fleet, new Date(minute)]);
      return rowCount === 1;
    },

    async write(fleet: string, minute: number, counted: CountedMinute): Promise<void> {
      const { ids, bounds, columns, requests, latency } = counted;
      const [members, counts] = await Promise.all([
        pack(JSON.stringify(ids)),
        pack(new Uint8Array(columns.buffer, columns.byteOffset, columns.byteLength)),
      ]);
      const row = [bounds, requests, JSON.stringify(latency), members, counts];
      await database.query(writeMinute, [fleet, new Date(minute), ...row]);
    },

    /** The counts of the whole fleet in the hour before, the newest minute first. */
    async readHour(fleet: string, before: number) {
      const { rows } = await database.query<Pick<CountedMinute, "bounds" | "requests" | "latency">>(
        `SELECT bounds, requests, latency FROM sentinel_counts
         WHERE fleet = $1 AND minute >= $2::timestamptz - interval '1 hour' AND minute < $2
           AND counts IS NOT NULL ORDER BY minute DESC`,
        [fleet, new Date(before)],
      );
      return rows;
    },

    async read(fleet: string, wanted: CountsWanted): Promise<CountsRead> {
      const [froms, tos] = [
        wanted.spans.map(({ from }) => new Date(from)),
        wanted.spans.map(({ to }) => new Date(to)),
      ];
      const { rows } = await database.query<StoredMinute>(selectMinutes, [fleet, froms, tos]);
      return fillMinutes(rows, wanted);
    },
  };
}

type StoredMinute = { at: number; bounds: number[]; members: Buffer; counts: Buffer };

const claimMinute = `
  WITH old AS (
    DELETE FROM sentinel_counts WHERE (fleet, minute) IN (
      SELECT fleet, minute FROM sentinel_counts
      WHERE minute < $2::timestamptz - interval '2 days' FOR UPDATE SKIP LOCKED)
  )
  INSERT INTO sentinel_counts (fleet, minute) VALUES ($1, $2) ON CONFLICT DO NOTHING`;

const writeMinute = `
  UPDATE sentinel_counts SET bounds = $3, requests = $4, latency = $5, members = $6, counts = $7
  WHERE fleet = $1 AND minute = $2 AND counts IS NULL`;

const selectMinutes = `
  SELECT (extract(epoch FROM minute) * 1000)::float8 AS at, bounds, members, counts
  FROM sentinel_counts JOIN unnest($2::timestamptz[], $3::timestamptz[]) AS t (a, b)
    ON minute >= t.a AND minute < t.b
  WHERE fleet = $1 AND counts IS NOT NULL ORDER BY minute`;

async function fillMinutes(
  rows: readonly StoredMinute[],
  { ids, spans, boundAt }: CountsWanted,
): Promise<CountsRead> {
  // Before its first requests a fleet has its own bound, by which one that measures durations counts none.
  const isChosen = ({ at, bounds: [first = ownBound] }: StoredMinute) =>
    at >= boundAt && first !== ownBound;
  const bound = rows.find(isChosen)?.bounds[0] ?? ownBound;
  const last = rows.at(-1)?.at;
  const length = last === undefined ? 0 : indexOf(spans, last) + 1;
  const sentinels = ids.map(() => createMinutes(length));
  let members: { packed: Buffer; places: Int32Array } | undefined;
  for (const row of rows) {
    // The fleet is mostly the same from minute to minute.
    if (members === undefined || !members.packed.equals(row.members)) {
      members = { packed: row.members, places: await findPlaces(row.members, ids) };
    }
    const bytes = await unpack(row.counts);
    const columns = new Uint32Array(
      bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength),
    );
    fill(sentinels, columns, {
      minute: indexOf(spans, row.at),
      places: members.places,
      width: fixedColumns + row.bounds.length,
      slowAt: row.bounds.indexOf(bound),
    });
  }
  return { sentinels, first: rows[0]?.at };
}

/** The place of a minute in arrays that have one span after the other. */
function indexOf(spans: readonly Span[], at: number): number {
  let before = 0;
  for (const { from, to } of spans) {
    if (at >= from && at < to) return before + (at - from) / minuteMs;
    before += (to - from) / minuteMs;
  }
  throw new RangeError(`no span has the minute ${at}`);
}

function createMinutes(length: number): SentinelMinutes {
  const empty = () => new Float64Array(length).fill(Number.NaN);
  return { requests: empty(), errors: empty(), slow: empty(), restarts: empty() };
}

/** Where each wanted sentinel is in a row; -1: it is not. */
async function findPlaces(packed: Buffer, ids: readonly string[]): Promise<Int32Array> {
  const stored = JSON.parse(String(await unpack(packed))) as string[];
  const places = new Map(stored.map((id, i) => [id, i]));
  return Int32Array.from(ids, (id) => places.get(id) ?? -1);
}

type Row = { minute: number; places: Int32Array; width: number; slowAt: number };

function fill(sentinels: SentinelMinutes[], columns: Uint32Array, row: Row): void {
  const { minute, places, width, slowAt } = row;
  const read = (at: number) => {
    const count = columns[at] as number;
    return count === notReported ? Number.NaN : count;
  };
  for (const [i, one] of sentinels.entries()) {
    const place = places[i] as number;
    if (place < 0) continue;
    const from = place * width;
    one.requests[minute] = read(from);
    one.errors[minute] = read(from + 1);
    one.restarts[minute] = read(from + 2);
    one.slow[minute] = slowAt < 0 ? Number.NaN : read(from + fixedColumns + slowAt);
  }
}
