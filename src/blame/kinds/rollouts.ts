/** Waves of rollouts, and rollbacks: which sentinels of which regions were ordered to run another image, and when. */
import { toRegion } from "#blame/rank.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { cleanText, someOf } from "#kernel/text.ts";
import { type KindOfChange, msOf, type Row } from "./kind.ts";

const mostRollouts = 5;

export const rollouts: KindOfChange = {
  // A sentinel that was put back had been in its wave, too. Deploys without an outcome are known by their orders.
  sql: `
    WITH recent AS (
      SELECT id, fleet, image, started_by, started_at, waves, current_wave FROM rollouts
      WHERE started_at > $1::timestamptz - interval '7 days' AND started_at <= $2 AND updated_at >= $1
      ORDER BY started_at DESC LIMIT ${mostRollouts}
    ), members AS (
      SELECT s.rollout_id, s.wave, coalesce(s.region, '') AS region, count(*)::integer AS size,
        s.outcome IN ('reverted', 'not_reverted') AS is_back, min(s.updated_at) AS first, max(s.updated_at) AS last
      FROM recent r JOIN rollout_sentinels s ON s.rollout_id = r.id
      WHERE s.wave > 0 AND (s.outcome <> 'left_out' OR s.outcome IS NULL AND s.wave <= r.current_wave AND EXISTS (
        SELECT FROM sentinels n WHERE n.id = s.sentinel_id AND n.ordered_at >= r.started_at))
      GROUP BY 1, 2, 3, 5
    ), places AS (
      SELECT m.rollout_id, m.wave, m.region, sum(m.size)::integer AS touched,
        coalesce(min((r.waves -> (m.wave - 1) ->> 'started_at')::timestamptz), min(m.first)) AS at,
        coalesce(min((r.waves -> (m.wave - 1) ->> 'ended_at')::timestamptz), $2) AS until
      FROM members m JOIN recent r ON r.id = m.rollout_id GROUP BY 1, 2, 3
      UNION ALL
      SELECT rollout_id, NULL, region, sum(size)::integer, min(first), max(last)
      FROM members WHERE is_back GROUP BY 1, 3
    )
    SELECT r.id, r.fleet, r.image, r.started_by, p.wave, jsonb_object_agg(p.region, p.touched) AS touched,
      ${msOf("min(p.at)")} AS at_ms, ${msOf("max(p.until)")} AS until_ms,
      (SELECT jsonb_object_agg(region, size) FROM (
        SELECT region, count(*)::integer AS size FROM sentinels n WHERE n.fleet = r.fleet GROUP BY region
      ) AS sized) AS sizes
    FROM places p JOIN recent r ON r.id = p.rollout_id
    GROUP BY r.id, r.fleet, r.image, r.started_by, p.wave
    HAVING max(p.until) >= $1 ORDER BY min(p.at) DESC LIMIT 200`,

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
