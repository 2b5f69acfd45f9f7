/** Finds invocations that this version cannot continue, because another version wrote their journal, and what is in that. */
import type { RestateAdmin } from "./restate-admin.ts";

/** An invocation that cannot continue. */
export type WedgedInvocation = {
  id: string;
  service: string;
  /** null: the service has no keys. */
  key: string | null;
  handler: string;
  /** The invocation that called it; null: a caller from outside of Restate. */
  parent: string | null;
  /** The revision that started it; null: it never ran. */
  revision: string | null;
};

/** `startedAt`: when its last attempt was made. */
type StuckInvocation = WedgedInvocation & { startedAt: string | null };

/** `servedBy`: the revision that gets new calls of its service; `isOrphaned`: another one than its own. */
export type UnansweredInvocation = {
  id: string;
  status: string;
  isOrphaned: boolean;
  servedBy: string | null;
};

type UnansweredRow = Pick<UnansweredInvocation, "id" | "status"> & {
  /** Absent: it has not reached an address a single time. */
  pinned?: string;
  serving: string;
  endpoint: string;
};

type StuckRow = Omit<StuckInvocation, "revision"> & { endpoint: string | null };

/** Reads invocations of every address that a worker was registered at: versions follow each other behind one. */
export function createWedgedReader(admin: RestateAdmin, services: readonly string[]) {
  const names = services.map(quote).join(", ");
  return {
    /** The invocations that failed because their journal doesn't match the code. */
    async stuck(): Promise<StuckInvocation[]> {
      const rows = await admin.query<StuckRow>(findStuck(names));
      return rows.map(({ endpoint, ...row }) => ({ ...row, revision: revisionOf(endpoint) }));
    },

    /** The invocations that another revision started and that have not ended. */
    async inherited(revision: string): Promise<{ id: string; status: string }[]> {
      return admin.query(findInherited(names, revision));
    },

    /** The invocations at whose address nobody answers. */
    async unanswered(): Promise<UnansweredInvocation[]> {
      const rows = await admin.query<UnansweredRow>(findUnanswered(names));
      return rows.map(({ id, status, pinned, serving, endpoint }) => ({
        id,
        status,
        isOrphaned: pinned !== undefined && pinned !== serving,
        servedBy: revisionOf(endpoint),
      }));
    },

    /** Their arguments and the calls that they have sent; nothing for those whose journal is gone. */
    journals: (invocations: readonly string[]) => readJournals(admin, invocations),
  };
}

export type WedgedReader = ReturnType<typeof createWedgedReader>;

/** The revision in a worker's address; null: there is none. */
export function revisionOf(endpoint: string | null): string | null {
  return /\/rev-([^/]+)\/?$/.exec(endpoint ?? "")?.[1] ?? null;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

// RT0016: the journal differs from what the code does now. RT0012: the code has no such handler. The last failure of an
// invocation paused by its retry policy is in the events alone.
const findStuck = (names: string) => `
  SELECT i.id, i.target_service_name AS service, i.target_service_key AS key,
    i.target_handler_name AS handler, i.invoked_by_id AS parent, i.last_start_at AS "startedAt",
    d.endpoint
  FROM sys_invocation i
  LEFT JOIN sys_deployment d ON d.id = i.pinned_deployment_id
  LEFT JOIN (SELECT id, event_json, row_number() OVER (PARTITION BY id ORDER BY appended_at DESC) AS n
    FROM sys_journal_events) e ON e.id = i.id AND e.n = 1
  WHERE i.status IN ('paused', 'backing-off') AND i.target_service_name IN (${names})
    AND (i.last_failure_error_code IN ('RT0016', 'RT0012')
      OR e.event_json LIKE '%RT0016%' OR e.event_json LIKE '%RT0012%')
    AND (d.endpoint IS NULL OR d.endpoint LIKE '%/rev-%')`;

const findInherited = (names: string, revision: string) => `
  SELECT i.id, i.status FROM sys_invocation i
  JOIN sys_deployment d ON d.id = i.pinned_deployment_id
  WHERE i.status <> 'completed' AND i.target_service_name IN (${names})
    AND d.endpoint LIKE '%/rev-%' AND rtrim(d.endpoint, '/') NOT LIKE ${quote(`%/rev-${revision}`)}`;

/** Restate has tried for about ten seconds then (`untilDone`): longer than a process takes to start again. */
const fewestRetries = 9;

// RT0010: the address cannot be reached.
const findUnanswered = (names: string) => `
  SELECT i.id, i.status, i.pinned_deployment_id AS pinned, s.deployment_id AS serving, d.endpoint
  FROM sys_invocation i
  JOIN sys_service s ON s.name = i.target_service_name
  JOIN sys_deployment d ON d.id = s.deployment_id
  WHERE i.status IN ('paused', 'backing-off') AND i.target_service_name IN (${names})
    AND i.last_failure_error_code = 'RT0010' AND i.retry_count >= ${fewestRetries}`;
/** A one-way call. */
export type SentCall = {
  id: string;
  service: string;
  /** null: the service has no keys. */
  key: string | null;
  handler: string;
  payload: Buffer;
  /** The time at which it should start, in Unix ms; 0: at once. */
  atMs: number;
};

export type Journals = {
  /** The argument of each invocation, except those whose journal is gone. */
  inputs: ReadonlyMap<string, Buffer>;
  /** The one-way calls that they have sent and that have not ended. */
  children: (SentCall & { isBegun: boolean })[];
};

async function readJournals(
  admin: RestateAdmin,
  invocations: readonly string[],
): Promise<Journals> {
  const entries = await query<EntryRow>(admin, invocations, findEntries);
  const inputs = new Map<string, Buffer>();
  const sent = new Map<string, SentCall>();
  for (const { id, entry_json } of entries) {
    const { Input, OneWayCall } = (JSON.parse(entry_json) as Entry).Command;
    if (Input !== undefined) inputs.set(id, Buffer.from(Input.payload));
    const call = OneWayCall === undefined ? undefined : toSentCall(OneWayCall);
    if (call !== undefined) sent.set(call.id, call);
  }
  const open = await query<OpenRow>(admin, [...sent.keys()], findOpen);
  const children = open.flatMap(({ id, status }) => {
    const call = sent.get(id);
    return call === undefined ? [] : [{ ...call, isBegun: !notStarted.includes(status) }];
  });
  return { inputs, children };
}

const notStarted = ["pending", "scheduled"];

type EntryRow = { id: string; entry_json: string };
type OpenRow = { id: string; status: string };

type Entry = { Command: { Input?: { payload: number[] }; OneWayCall?: OneWayEntry } };

type Target = { name: string; key?: string; handler: string };

type OneWayEntry = {
  request: {
    invocation_id: string;
    invocation_target: { VirtualObject?: Target; Service?: Target };
    parameter: number[];
  };
  invoke_time: number;
};

function toSentCall({ request, invoke_time: atMs }: OneWayEntry): SentCall | undefined {
  const { invocation_id: id, invocation_target, parameter } = request;
  const target = invocation_target.VirtualObject ?? invocation_target.Service;
  if (target === undefined) return undefined;
  const { name: service, key = null, handler } = target;
  return { id, service, key, handler, payload: Buffer.from(parameter), atMs };
}

const mostAtOnce = 200;

/** Several queries with a part of the ids each, because the length of a query is limited. */
async function query<Row>(
  admin: RestateAdmin,
  ids: readonly string[],
  sql: (ids: string) => string,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < ids.length; at += mostAtOnce) {
    const part = ids.slice(at, at + mostAtOnce).map((id) => `'${id.replaceAll("'", "''")}'`);
    rows.push(...(await admin.query<Row>(sql(part.join(", ")))));
  }
  return rows;
}

const findEntries = (ids: string) => `
  SELECT id, entry_json FROM sys_journal WHERE id IN (${ids})
    AND (index = 0 OR entry_type = 'Command: OneWayCall')`;

const findOpen = (ids: string) => `
  SELECT id, status FROM sys_invocation WHERE id IN (${ids}) AND status <> 'completed'`;
