/** Reads the images that a fleet has seen, for whoever starts a rollout. */
import type { Database } from "#kernel/database.ts";
import { isSameContent } from "#kernel/image-reference.ts";
import type { SeenImage } from "./contract.ts";

const maxImages = 50;

/** The number of newest rollouts that are read: older ones repeat images, or interest nobody any more. */
const maxRollouts = 500;

/** Lists the images that run, ran before on a sentinel, or were rolled out, by their newest names; newest rollout first. */
export type ReadSeenImages = (fleet: string) => Promise<SeenImage[]>;

export function createImageReader(database: Database): ReadSeenImages {
  return async (fleet) => {
    const { rows } = await database.query(selectImages, [fleet]);
    const seen: SeenImage[] = [];
    for (const { image, running, rollout } of rows) {
      const known = seen.find((one) => isSameContent(one.image, image));
      const at = rollout && { started_at: new Date(rollout.started_at).toISOString() };
      if (known === undefined)
        seen.push({ image, running, rollout: rollout && { ...rollout, ...at } });
      else known.running += running;
    }
    return seen;
  };
}

// Running images are never cut off by old rollouts.
const selectImages = `
  WITH rolled_out AS (
    SELECT DISTINCT ON (image) image, started_at,
      json_build_object('id', id, 'started_at', started_at, 'state', state, 'outcome', outcome,
        'succeeded', succeeded, 'failed', failed) AS rollout
    FROM (SELECT * FROM rollouts WHERE fleet = $1 ORDER BY started_at DESC LIMIT ${maxRollouts}) AS newest
    ORDER BY image, started_at DESC
  ), members AS (
    SELECT image, sum(running)::int AS running FROM (
      SELECT running_image AS image, count(*) AS running FROM sentinels WHERE fleet = $1 GROUP BY 1
      UNION ALL
      SELECT DISTINCT previous_image, 0 FROM sentinels WHERE fleet = $1 AND previous_image <> '') AS m
    WHERE image <> '' GROUP BY 1
  ), seen AS (
    SELECT image, coalesce(running, 0) AS running, rollout, started_at
    FROM rolled_out FULL JOIN members USING (image)
    ORDER BY coalesce(running, 0) > 0 DESC, started_at DESC NULLS LAST, image LIMIT ${maxImages}
  )
  SELECT image, running, rollout FROM seen ORDER BY started_at DESC NULLS LAST, running DESC, image`;
