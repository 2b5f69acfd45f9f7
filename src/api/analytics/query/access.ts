/** Which rows of analytics a caller may read: the condition that is added to every table. */
import type { QueryFamily } from "#api/analytics/sql/tables.ts";
import { writeOneOf, writeText } from "#api/analytics/sql/write.ts";
import { type Call, demand } from "#api/procedure.ts";
import type { Database } from "#kernel/database.ts";

type Access = {
  /** In the permissions: `<type>.<id>.read_analytics`. */
  type: "api" | "ratelimit";
  column: string;
  /** Selects the rows' ids for the ids in permissions. Ids of another workspace yield none. */
  find: string;
};

const accessTo: Record<QueryFamily, Access> = {
  verifications: {
    type: "api",
    column: "key_space_id",
    find: "SELECT key_space_id AS id FROM apis WHERE workspace_id = $1 AND id = ANY ($2)",
  },
  ratelimits: {
    type: "ratelimit",
    column: "namespace_id",
    find: "SELECT id FROM ratelimit_namespaces WHERE workspace_id = $1 AND id = ANY ($2)",
  },
};

export function ofWorkspace(workspaceId: string): string {
  return `workspace_id = ${writeText(workspaceId)}`;
}

/** Throws the 403 for a caller without any permission to read it. */
export async function conditionFor(
  family: QueryFamily,
  call: Call,
  database: Database,
): Promise<string> {
  const { type, column, find } = accessTo[family];
  const own = ofWorkspace(call.workspaceId);
  const all = `${type}.*.read_analytics`;
  if (call.grants.allow(all)) return own;
  const ids = idsIn(call.grants.names(), type);
  if (ids.length === 0) demand(call, all);
  const { rows } = await database.query<{ id: string }>(find, [call.workspaceId, ids]);
  return `${own} AND ${writeOneOf(
    column,
    rows.map(({ id }) => id),
  )}`;
}

function idsIn(names: Iterable<string>, type: string): string[] {
  const pattern = new RegExp(`^${type}\\.([^.*]+)\\.read_analytics$`);
  return [...names].flatMap((name) => pattern.exec(name)?.[1] ?? []);
}
