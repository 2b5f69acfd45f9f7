/** Reads the arguments of invocations and the calls that they have sent from their journals. */
import type { RestateAdmin } from "./restate-admin.ts";

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

export async function readJournals(
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
