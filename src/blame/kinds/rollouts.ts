/** Waves of rollouts, and rollbacks: which sentinels of which regions were ordered to run another image, and when. */
import { toRegion } from "#blame/rank.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { cleanText, someOf } from "#kernel/text.ts";
import { type KindOfChange, msOf, type Row } from "./kind.ts";

const mostRollouts = 10;

export const rollouts: KindOfChange = {
  // Deploys that have no outcome yet are known by their orders alone.
  sql: `
    WITH recent AS (
      SELECT id, fleet, image, started_by, started_at FROM rollouts
      WHERE started_at > $1::timestamptz - interval '7 days' AND started_at <= $2 AND updated_at >= $1
      ORDER BY started_at DESC LIMIT ${mostRollouts}
    ), deploys AS (
      SELECT s.rollout_id, s.wave, coalesce(s.region, '') AS region, s.sentinel_id,
        c.change ->> 0 IN ('reverted', 'not_reverted') AS is_back,
        coalesce(c.change ->> 2, c.change ->> 1)::float8 AS at_ms, (c.change ->> 1)::float8 AS until_ms
      FROM recent r JOIN rollout_sentinels s ON s.rollout_id = r.id
        CROSS JOIN LATERAL jsonb_array_elements(s.changes) AS c (change)
      WHERE c.change ->> 0 IN ('succeeded', 'failed', 'reverted', 'not_reverted')
      UNION ALL
      SELECT s.rollout_id, s.wave, coalesce(s.region, ''), s.sentinel_id, false,
        ${msOf("n.ordered_at")}, ${msOf("$2::timestamptz")}
      FROM recent r JOIN rollout_sentinels s ON s.rollout_id = r.id AND s.outcome IS NULL AND s.wave > 0
        JOIN sentinels n ON n.id = s.sentinel_id AND n.ordered_at >= r.started_at
    ), places AS (
      SELECT rollout_id, CASE WHEN NOT is_back THEN wave END AS wave, region,
        count(DISTINCT sentinel_id)::integer AS touched, min(at_ms) AS at_ms, max(until_ms) AS until_ms
      FROM deploys WHERE at_ms >= ${msOf("$1::timestamptz")} GROUP BY 1, 2, 3
    )
    SELECT r.id, r.fleet, r.image, r.started_by, p.wave, jsonb_object_agg(p.region, p.touched) AS touched,
      min(p.at_ms) AS at_ms, max(p.until_ms) AS until_ms,
      (SELECT jsonb_object_agg(region, size) FROM (
        SELECT region, count(*)::integer AS size FROM sentinels n WHERE n.fleet = r.fleet GROUP BY region
      ) AS sized) AS sizes
    FROM places p JOIN recent r ON r.id = p.rollout_id
    GROUP BY r.id, r.fleet, r.image, r.started_by, p.wave ORDER BY min(p.at_ms) DESC LIMIT 200`,

  toChange(row) {
    const { id, wave, at_ms, until_ms, started_by } = row;
    const named = ofFleet(row, row.touched);
    // A sentinel that has left the fleet since was one of it.
    const sizes = { ...named, ...ofFleet(row, row.sizes ?? {}) };
    const total = Object.values(sizes).reduce((all, size) => all + size, 0);
    return {
      id: wave === null ? `${id}:rollback` : `${id}:wave-${wave}`,
      kind: wave === null ? "rollback" : "rollout",
      atMs: at_ms,
      untilMs: until_ms,
      who: started_by === null ? null : cleanText(started_by, 100),
      summary: describe(row),
      reach: { of: "region", touched: named, sizes, total },
    };
  },
};

function ofFleet({ fleet }: Row, counts: Record<string, number>): Record<string, number> {
  const named = Object.entries(counts).map(([region, count]) => [toRegion(fleet, region), count]);
  return Object.fromEntries(named);
}

/** Returns for example `wave 2 of the rollout of gw:2 replaced 4 of 5 sentinels in eu and 1 of 5 in us`. */
function describe({ wave, image, touched, sizes }: Row): string {
  const of = `the rollout of ${shortenImage(cleanText(image, 200))}`;
  const places = Object.entries<number>(touched)
    .toSorted(([, a], [, b]) => b - a)
    .map(([region, count]) => {
      const size = Math.max(count, sizes?.[region] ?? count);
      return `${count} of ${size}${region === "" ? "" : ` in ${cleanText(region, 100)}`}`;
    });
  const did = wave === null ? `the rollback of ${of} put back` : `wave ${wave} of ${of} replaced`;
  return `${did} sentinels (${someOf(places, 4)})`;
}
