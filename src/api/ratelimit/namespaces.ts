/** Namespaces of rate limits with their overrides, cached. */
import type { Invalidations, Stale } from "#api/cache/invalidation.ts";
import { LiveCache, type Outage } from "#api/cache/live-cache.ts";
import type { MakeChange } from "#api/changes/change.ts";
import { ApiError } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { type Call, demand } from "#api/procedure.ts";
import type { Database } from "#kernel/database.ts";
import { compileOverrides, type FindOverride, type Override } from "./overrides.ts";

export type Namespace = {
  id: string;
  name: string;
  isDeleted: boolean;
  overrides: readonly Override[];
  findOverride: FindOverride;
};

/** Namespaces and overrides together: one has up to 2 kB. */
const maxCached = 30_000;

export type Namespaces = ReturnType<typeof createNamespaceStore>;

export function createNamespaceStore(parts: {
  database: Database;
  change: MakeChange;
  invalidations: Invalidations;
  outage: Outage;
}) {
  const cache = new LiveCache<Namespace>({
    load: (name) => loadNamespace(parts.database, name),
    tagsOf: ({ id }): Stale[] => [`namespace:${id}`],
    invalidations: parts.invalidations,
    maxEntries: maxCached,
    weightOf: ({ overrides }) => 1 + overrides.length,
    outage: parts.outage,
  });
  const findAny = (call: Call, nameOrId: string) =>
    cache.get(cacheName(call.workspaceId, nameOrId));
  const find = (call: Call, nameOrId: string) => {
    const found = findAny(call, nameOrId);
    return found instanceof Promise ? found.then(requireAlive) : requireAlive(found);
  };
  const make = async (call: Call, name: string): Promise<Namespace> => {
    await createNamespace(parts.change, call, name);
    const made = await find(call, name);
    if (made === undefined)
      throw new Error(`namespace ${name} does not exist right after its creation`);
    return made;
  };
  return {
    cache,
    /** Finds by name or id. Throws the 404 when there is none or it was deleted; only limits distinguish the two. */
    require: async (call: Call, nameOrId: string): Promise<Namespace> => {
      const found = await findAny(call, nameOrId);
      if (found !== undefined && !found.isDeleted) return found;
      const detail = "The requested rate limit namespace does not exist.";
      throw new ApiError("unkey/data/ratelimit_namespace_not_found", detail);
    },
    /** Finds by name or id, or creates one if the caller may (else the 403). */
    ensure: (call: Call, name: string): Namespace | Promise<Namespace> => {
      const found = find(call, name);
      if (found === undefined) return make(call, name);
      return found instanceof Promise ? found.then((one) => one ?? make(call, name)) : found;
    },
  };
}

function requireAlive(namespace: Namespace | undefined): Namespace | undefined {
  if (namespace?.isDeleted !== true) return namespace;
  throw new ApiError(
    "unkey/data/ratelimit_namespace_gone",
    `The rate limit namespace '${namespace.name}' has been deleted.`,
  );
}

/** A workspace's id contains no slash. */
function cacheName(workspaceId: string, nameOrId: string): string {
  return `${workspaceId}/${nameOrId}`;
}

async function loadNamespace(database: Database, name: string): Promise<Namespace | undefined> {
  const slash = name.indexOf("/");
  const { rows } = await database.query<{
    id: string;
    name: string;
    isDeleted: boolean;
    overrides: Override[];
  }>({
    name: "load-namespace",
    text: `
      SELECT n.id, n.name, n.deleted_at IS NOT NULL AS "isDeleted",
        coalesce((SELECT jsonb_agg(jsonb_build_object('id', o.id, 'identifier', o.identifier,
          'limit', o."limit", 'durationMs', o.duration_ms))
          FROM ratelimit_overrides o WHERE o.namespace_id = n.id), '[]') AS overrides
      FROM ratelimit_namespaces n
      WHERE n.workspace_id = $1 AND (n.name = $2 OR n.id = $2)
      ORDER BY n.name = $2 DESC LIMIT 1`,
    values: [name.slice(0, slash), name.slice(slash + 1)],
  });
  const row = rows[0];
  return row && { ...row, findOverride: compileOverrides(row.overrides) };
}

async function createNamespace(change: MakeChange, call: Call, name: string): Promise<void> {
  demand(call, "ratelimit.*.create_namespace");
  await change(call, async ({ transaction, record, stale }) => {
    const id = newId("ratelimitNamespace");
    // A concurrent call may create the same one, which is used then.
    const { rowCount } = await transaction.query(
      `INSERT INTO ratelimit_namespaces (id, workspace_id, name) VALUES ($1, $2, $3)
       ON CONFLICT (workspace_id, name) DO NOTHING`,
      [id, call.workspaceId, name],
    );
    stale(`namespace:${id}`);
    if (rowCount === 0) return;
    record({
      event: "ratelimitNamespace.create",
      description: `Created rate limit namespace ${name}`,
      targets: [{ type: "ratelimitNamespace", id, name }],
    });
  });
}
