/**
 * Limits, permissions and states of keys, by the audit log. Its text names no key and no caller: whoever reads alerts
 * may not read the audit log. Changes of one kind by one caller in a minute are one.
 */
import { type KindOfChange, msOf } from "./kind.ts";

const mostEntries = 1_000;

export const keys: KindOfChange = {
  sql: `
    WITH newest AS (
      SELECT event, time, actor_id, targets FROM audit_log
      WHERE time BETWEEN $1 AND $2 AND workspace_id IS NOT NULL ORDER BY time DESC, id DESC LIMIT ${mostEntries}
    ), own AS (
      SELECT jsonb_build_array(jsonb_build_object('id', id)) AS target FROM (
        SELECT id FROM keys WHERE hash = ANY ($3)
        UNION ALL
        SELECT id FROM keys WHERE for_workspace_id IS NOT NULL AND origin IN ('checks', 'sentinels')
      ) AS found
    ), grouped AS (
      SELECT event, actor_id, min(time) AS at, max(time) AS until, count(*)::integer AS changes,
        count(*) FILTER (WHERE EXISTS (SELECT FROM own WHERE n.targets @> own.target))::integer AS own
      FROM newest n
      WHERE event NOT IN ('key.create', 'key.decrypt', 'identity.create', 'api.create', 'role.create',
        'permission.create', 'keyMigration.create', 'workspace.create', 'ratelimitNamespace.create')
      GROUP BY event, actor_id, date_trunc('minute', time)
    )
    SELECT event, actor_id, ${msOf("at")} AS at_ms, ${msOf("until")} AS until_ms, changes, own,
      greatest((SELECT sum(key_count) FROM key_spaces), changes)::float8 AS total
    FROM grouped ORDER BY at DESC LIMIT 200`,

  toChange({ event, at_ms, until_ms, changes, own, total }) {
    return {
      id: `keys:${event}:${at_ms}`,
      kind: "keys",
      atMs: at_ms,
      untilMs: until_ms,
      who: null,
      summary: `${changes === 1 ? "1 change" : `${changes} changes`} of keys, limits or permissions (${event})`,
      reach: {
        of: "key",
        touched: { ...(own > 0 && { own }), ...(changes > own && { others: changes - own }) },
        total: Math.max(total, 1),
      },
    };
  },
};
