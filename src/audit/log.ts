/** Reads the audit log: page by page, the newest first, and as an export, which goes on from a cursor. */
import { z } from "zod";
import { pause } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import { isUnavailable } from "#kernel/problem.ts";
import { readHead, readSealed, type SealedRow, seal } from "./chain.ts";

/** Absent: all. */
type AuditFilter = {
  workspaceId?: string | undefined;
  /** `key.decrypt`, or `key.*` for all events with this prefix. */
  event?: string | undefined;
  actorId?: string | undefined;
  /** The id of one of the entry's targets. */
  targetId?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
};

const Targets = z.array(
  z.object({ type: z.string(), id: z.string(), name: z.string().nullish() }).loose(),
);

const Row = z.object({
  id: z.string(),
  time: z.date(),
  /** Time to the microsecond, for the cursor. */
  exactTime: z.string(),
  workspaceId: z.string().nullable(),
  event: z.string(),
  description: z.string(),
  actorType: z.string(),
  actorId: z.string(),
  remoteIp: z.string().nullable(),
  userAgent: z.string().nullable(),
  requestId: z.string().nullable(),
  targets: Targets,
  meta: z.record(z.string(), z.unknown()).nullable(),
});
type AuditRow = Omit<z.infer<typeof Row>, "exactTime">;

type AuditPage = { entries: AuditRow[]; cursor: string | undefined };

/** The audit log as an operator reads it: over all workspaces, newest first, page by page. */
export function createAuditReader(database: Database) {
  return {
    /** `cursor`: the cursor of the previous page; undefined: the first page. Throws when it is invalid. */
    list: async (
      filter: AuditFilter,
      page: { limit: number; cursor?: string | undefined },
    ): Promise<AuditPage> => {
      const after = page.cursor === undefined ? undefined : readCursor(page.cursor);
      const { rows } = await database.query(listQuery, [
        ...valuesOf(filter),
        after?.time,
        after?.id,
        page.limit + 1,
      ]);
      const found = rows.map((row) => Row.parse(row));
      const last = found.length > page.limit ? found[page.limit - 1] : undefined;
      return {
        entries: found.slice(0, page.limit).map(({ exactTime: _, ...entry }) => entry),
        cursor: last && writeCursor({ time: last.exactTime, id: last.id }),
      };
    },
  };
}

/** The first parameters of `listQuery`; undefined becomes null. */
function valuesOf({ workspaceId, event, actorId, targetId, since, until }: AuditFilter): unknown[] {
  const target = targetId === undefined ? undefined : JSON.stringify([{ id: targetId }]);
  return [workspaceId, ...eventsOf(event), actorId, target, since, until];
}

/** The exact event or the prefix; the other one is undefined. */
function eventsOf(event: string | undefined): (string | undefined)[] {
  return event?.endsWith("*") === true ? [undefined, event.slice(0, -1)] : [event, undefined];
}

/** The format of `exactTime`: a valid date and time in UTC, to the microsecond. */
const ExactTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$/)
  .refine((time) => z.iso.datetime().safeParse(`${time.slice(0, -3).replace(" ", "T")}Z`).success);

const Cursor = z.tuple([ExactTime, z.string().regex(/^\w{1,64}$/)]);

function writeCursor({ time, id }: { time: string; id: string }): string {
  return Buffer.from(JSON.stringify([time, id])).toString("base64url");
}

function readCursor(text: string): { time: string; id: string } {
  try {
    const [time, id] = Cursor.parse(JSON.parse(Buffer.from(text, "base64url").toString("utf8")));
    return { time, id };
  } catch {
    throw new Error(
      "this is not a cursor of this list: use the one at the end of the previous page",
    );
  }
}

const listQuery = `
SELECT id, time, (time AT TIME ZONE 'UTC')::text || '+00' AS "exactTime",
  workspace_id AS "workspaceId", event, description, actor_type AS "actorType",
  actor_id AS "actorId", remote_ip AS "remoteIp", user_agent AS "userAgent",
  request_id AS "requestId", targets, meta
FROM audit_log
WHERE ($1::text IS NULL OR workspace_id = $1)
  AND ($2::text IS NULL OR event = $2)
  AND ($3::text IS NULL OR starts_with(event, $3))
  AND ($4::text IS NULL OR actor_id = $4)
  AND ($5::jsonb IS NULL OR targets @> $5)
  AND ($6::timestamptz IS NULL OR time >= $6)
  AND ($7::timestamptz IS NULL OR time < $7)
  AND ($8::timestamptz IS NULL OR (time, id) < ($8, $9))
ORDER BY time DESC, id DESC
LIMIT $10`;

/** `since`: the cursor of the last row that is known, or a time; absent: from the first row on. */
export type ExportOrder = {
  since?: number | Date | undefined;
  /** True: waits for further rows, until the signal is aborted. */
  follow: boolean;
  signal: AbortSignal;
  /** Called when Postgres does not answer; the export goes on once it does. */
  onAway: (error: Error) => void;
};

const batch = 500;
const pollEveryMs = 500;

/** Yields each sealed row once, in the order of the chain. Throws when one is missing, and when a cursor is no longer there. */
export async function* exportRows(
  database: Database,
  { since, follow, signal, onAway }: ExportOrder,
): AsyncGenerator<SealedRow> {
  let last = await findStart(database, since);
  while (!signal.aborted) {
    const rows = await readNext(database, last, follow ? onAway : undefined);
    for (const row of rows) {
      requireNext(row, last);
      yield row;
      last = row.cursor;
    }
    if (rows.length === batch) continue;
    if (!follow) return;
    await pause(pollEveryMs, signal);
  }
}

async function readNext(
  database: Database,
  after: number,
  onAway: ((error: Error) => void) | undefined,
): Promise<SealedRow[]> {
  try {
    await seal(database);
    return await readSealed(database, { after, limit: batch });
  } catch (error) {
    if (onAway === undefined || !isUnavailable(error as Error)) throw error;
    onAway(error as Error);
    return [];
  }
}

/** The cursor before the first row to export; 0: from the first one that there is. */
async function findStart(database: Database, since: number | Date | undefined): Promise<number> {
  while ((await seal(database)) > 0);
  if (since === undefined) return 0;
  const head = await readHead(database);
  if (typeof since === "number") {
    if (since > head.cursor) {
      throw new Error(`the log ends at the cursor ${head.cursor}: ${since} is of another one`);
    }
    const [next] = await readSealed(database, { after: since, limit: 1 });
    if (next !== undefined && next.cursor !== since + 1) throw missing(since + 1);
    return since;
  }
  const { rows } = await database.query<{ first: number | null }>(
    "SELECT min(seq)::float8 AS first FROM audit_log WHERE time >= $1",
    [since],
  );
  return rows[0]?.first == null ? head.cursor : rows[0].first - 1;
}

/** `last`: the cursor before the row; 0: it is the first one that there is. */
function requireNext({ cursor }: SealedRow, last: number): void {
  if (last > 0 && cursor !== last + 1) throw missing(last + 1);
}

function missing(cursor: number): Error {
  return new Error(
    `row ${cursor} is missing: "vedette audit verify" says whether it was removed by audit.keep_days`,
  );
}
