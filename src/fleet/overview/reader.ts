/** Counts and searches the table `sentinels`, in one statement, so that all numbers are of one moment. */
import type { Database } from "#kernel/database.ts";
import { compareImages } from "#kernel/image-reference.ts";
import { type FleetOverview, type FleetSearch, imageStates, maxWords } from "./contract.ts";

export type ReadFleetOverview = (fleet: string, search: FleetSearch) => Promise<FleetOverview>;

export function createFleetOverview(database: Database): ReadFleetOverview {
  return async (fleet, search) => {
    const { region, image, health, state, page, limit } = search;
    const other = await findOther(database, fleet);
    const { rows } = await database.query<{ overview: FleetOverview }>(selectOverview, [
      fleet,
      wordsOf(search.search),
      region ?? null,
      image ?? null,
      health ?? null,
      state ?? null,
      limit,
      (page - 1) * limit,
      other.map((pair) => pair.image),
      other.map((pair) => pair.running_image),
    ]);
    const { overview } = rows[0] as { overview: FleetOverview };
    return overview;
  };
}

/** Orders with another image that runs in their place: few, and compared here, because names differ in many ways. */
async function findOther(database: Database, fleet: string) {
  const { rows } = await database.query<{ image: string; running_image: string }>(
    `SELECT DISTINCT image, running_image FROM sentinels
     WHERE fleet = $1 AND image <> running_image AND running_image <> '' AND deploy_status = 'ready'`,
    [fleet],
  );
  return rows.filter((pair) => compareImages(pair.image, pair.running_image) === "other");
}

function wordsOf(search: string): string[] {
  const words = search.toLowerCase().split(/\s+/);
  return words.filter((word) => word !== "").slice(0, maxWords);
}

const maxRegions = 100;
const maxChoices = 100;
const maxDifferences = 20;
/** The images that have a column of their own in the table of versions. */
const maxVersions = 5;

const imageState = `
  CASE WHEN deploy_status = 'failed' THEN 'failed' WHEN deploy_status = 'progressing' THEN 'deploying'
    WHEN (image, running_image) IN (SELECT * FROM unnest($9::text[], $10::text[])) THEN 'differs'
    ELSE 'as_ordered' END`;

const hasWords = `
  cardinality($2::text[]) = 0 OR NOT EXISTS (
    SELECT FROM unnest($2::text[]) AS word WHERE strpos(lower(id) || coalesce(
      (SELECT string_agg(' ' || lower(key || '=' || value), '') FROM jsonb_each_text(labels)), ''), word) = 0)`;

const filters = ["region", "image", "health", "state"] as const;

/** Returns SQL that counts the sentinels by each value of a filter, with all other filters as they are. */
function countChoices(filter: (typeof filters)[number]): string {
  const others = filters.filter((other) => other !== filter).map((other) => `by_${other}`);
  const column = filter === "image" ? "running_image" : filter;
  return `
    (SELECT coalesce(json_agg(c), '[]') FROM (
      SELECT ${column} AS value, count(*) FILTER (WHERE by_words AND ${others.join(" AND ")})::int AS count
      FROM known GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${maxChoices}) AS c)`;
}

const time = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const selectOverview = `
  WITH known AS MATERIALIZED (
    SELECT *, coalesce(region = $3, true) AS by_region, coalesce(running_image = $4, true) AS by_image,
      coalesce(health = $5, true) AS by_health, coalesce(state = $6, true) AS by_state
    FROM (
      SELECT id, region, image, running_image, health, deploy_reason, labels, updated_at,
        ${imageState} AS state, ${hasWords} AS by_words
      FROM sentinels WHERE fleet = $1) AS fleet
  ), found AS MATERIALIZED (
    SELECT * FROM known WHERE by_words AND by_region AND by_image AND by_health AND by_state
  ), page AS (
    SELECT id, region, image, running_image, state, deploy_reason, health, labels,
      ${time("updated_at")} AS updated_at
    FROM found ORDER BY id LIMIT $7 OFFSET $8
  ), first_images AS (
    SELECT running_image FROM known GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ${maxVersions}
  ), first_regions AS (
    SELECT region FROM known GROUP BY 1 ORDER BY 1 LIMIT ${maxRegions}
  ), versions AS (
    SELECT region, f.running_image AS image, count(*)::int AS count
    FROM known JOIN first_regions USING (region) LEFT JOIN first_images AS f USING (running_image)
    GROUP BY 1, 2
  ), differences AS (
    SELECT image AS ordered, running_image AS running,
      (count(*) FILTER (WHERE state = 'deploying'))::int AS deploying,
      (count(*) FILTER (WHERE state = 'failed'))::int AS failed,
      (count(*) FILTER (WHERE state = 'differs'))::int AS differs
    FROM known WHERE state <> 'as_ordered' GROUP BY 1, 2 ORDER BY count(*) DESC, 1, 2 LIMIT ${maxDifferences}
  )
  SELECT json_build_object(
    'total', (SELECT count(*) FROM known),
    'found', (SELECT count(*) FROM found),
    'sentinels', (SELECT coalesce(json_agg(page ORDER BY id), '[]') FROM page),
    'choices', json_build_object(${filters.map((filter) => `'${filter}', ${countChoices(filter)}`).join(", ")}),
    'versions', (SELECT coalesce(json_agg(versions ORDER BY region, count DESC, image), '[]') FROM versions),
    'more_regions', (SELECT greatest(0, count(DISTINCT region) - ${maxRegions}) FROM known),
    'differences', (SELECT coalesce(json_agg(differences), '[]') FROM differences),
    'states', (SELECT json_build_object(${imageStates.map((state) => `'${state}', count(*) FILTER (WHERE state = '${state}')`).join(", ")}) FROM known),
    'unhealthy', (SELECT count(*) FROM known WHERE health = 'unhealthy'),
    'list', (SELECT json_build_object('asked_at', ${time("l.asked_at")}, 'problem', l.problem,
        'problem_at', ${time("l.problem_at")})
      FROM (SELECT $1::text AS fleet) AS f LEFT JOIN fleet_lists AS l USING (fleet))
  ) AS overview`;
