import type pg from "pg";
import { Gauge, type Registry } from "prom-client";
import type { ListedSentinel } from "#fleet/drivers/driver.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { compareImages } from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";
import {
  type FleetList,
  type FleetMember,
  type FleetProblemCode,
  fleetOption,
} from "./contract.ts";

/** Counts of a fleet's sentinels: known so far, of those missing in a new list, and listed in it. */
type ListCounts = { fleet: string; known: number; missing: number; listed: number };

/** Throws `fleet_list_refused` for a list that lacks more than this percentage of the known ones. */
export function refuseList(
  { fleet, known, missing, listed }: ListCounts,
  maxMissingPercent: number,
): void {
  if (missing * 100 <= known * maxMissingPercent) return;
  throw new ProblemError<FleetProblemCode>({
    status: 409,
    code: "fleet_list_refused",
    detail:
      `the fleet lists ${listed} sentinels and lacks ${missing} of the ${known} known ones: ` +
      `it was not accepted. If it is correct, confirm it: vedette sentinels confirm ${listed}${fleetOption(fleet)}`,
  });
}

/** Throws `fleet_list_changed` when the fleet lists another number than the one confirmed. */
export function requireCount(listed: number, confirmed: number): void {
  if (listed === confirmed) return;
  throw new ProblemError<FleetProblemCode>({
    status: 409,
    code: "fleet_list_changed",
    detail: `the fleet lists ${listed} sentinels now, not ${confirmed}: check again and confirm that number`,
  });
}

export type ListMetrics = { succeeded: (size: number) => void; failed: () => void };

export function createListMetrics(registry: Registry): (fleet: string) => ListMetrics {
  const size = new Gauge({
    name: "vedette_fleet_sentinels",
    help: "Sentinels in the fleet's last accepted list.",
    labelNames: ["fleet"],
    registers: [registry],
  });
  const isFailing = new Gauge({
    name: "vedette_fleet_list_failing",
    help: "1 while the fleet cannot be listed or its list is refused, else 0.",
    labelNames: ["fleet"],
    registers: [registry],
  });
  return (fleet) => ({
    succeeded: (sentinels) => {
      size.set({ fleet }, sentinels);
      isFailing.set({ fleet }, 0);
    },
    failed: () => isFailing.set({ fleet }, 1),
  });
}

/** A list, and the time right before it was requested, by the clock of Postgres. */
type DatedList = { askedAt: string; sentinels: readonly ListedSentinel[] };

export type Confirmation = NonNullable<FleetList["list_confirmed"]>;

/** `confirmedBy`: the operator who confirmed the list; null: nobody had to. */
type WriteTerms = Omit<ListTerms, "maxMissingPercent"> & {
  limitPercent: number;
  confirmedBy: string | null;
};

export type ListStore = ReturnType<typeof createListStore>;

/** `maxMissingPercent`: more missing sentinels refuse the list. `keepsLogs`: false deletes the kept logs. */
type ListTerms = { fleet: string; maxMissingPercent: number; keepsLogs: boolean };

export function createListStore(database: Database, listTerms: ListTerms) {
  const { fleet, maxMissingPercent, keepsLogs } = listTerms;
  return {
    /** The time now, by the clock that dates the rows. */
    async readClock(): Promise<string> {
      const { rows } = await database.query<{ now: string }>(
        "SELECT clock_timestamp()::text AS now",
      );
      return rows[0]?.now ?? "";
    },

    /**
     * Writes the list, unless a newer one is written already, and returns the fleet as in the table then.
     * Rows that a deploy has written since the list was requested are not changed. Throws
     * `fleet_list_refused` for a list that lacks too many sentinels, unless an operator has confirmed it.
     */
    write(list: DatedList, confirmedBy: string | null = null): Promise<FleetMember[]> {
      const limitPercent = confirmedBy === null ? maxMissingPercent : 100;
      const terms = { fleet, limitPercent, confirmedBy, keepsLogs };
      return inTransaction(database, async (transaction) => {
        if (await isNewest(transaction, fleet, list)) await writeList(transaction, list, terms);
        return readMembers(transaction, fleet);
      });
    },

    async isKnown(): Promise<boolean> {
      const { rowCount } = await database.query("SELECT FROM fleet_lists WHERE fleet = $1", [
        fleet,
      ]);
      return rowCount !== 0;
    },

    /** Why the newest list was not written; null: it was. */
    async readProblem(): Promise<string | null> {
      const { rows } = await database.query<{ problem: string | null }>(
        "SELECT problem FROM fleet_lists WHERE fleet = $1",
        [fleet],
      );
      return rows[0]?.problem ?? null;
    },

    /** Returns the last confirmation of a list that was written; null: there is none. */
    async readConfirmation(): Promise<Confirmation | null> {
      const { rows } = await database.query<{ by: string; at: Date }>(
        `SELECT confirmed_by AS by, confirmed_at AS at FROM fleet_lists
         WHERE fleet = $1 AND confirmed_by IS NOT NULL`,
        [fleet],
      );
      const [row] = rows;
      return row === undefined ? null : { by: row.by, at: row.at.toISOString() };
    },

    /** Stores why no list was written; the next written list clears it. */
    async recordProblem(problem: string): Promise<void> {
      await database.query(saveProblem, [fleet, problem]);
    },
  };
}

/** Locks out other writers until the end. A date in the future is of a wrong clock, and older than any of now. */
async function isNewest(
  transaction: pg.PoolClient,
  fleet: string,
  { askedAt }: DatedList,
): Promise<boolean> {
  await transaction.query("INSERT INTO fleet_lists (fleet) VALUES ($1) ON CONFLICT DO NOTHING", [
    fleet,
  ]);
  const { rows } = await transaction.query<{ newest: boolean }>(
    `SELECT $1::timestamptz <= clock_timestamp()
       AND coalesce(asked_at <= $1::timestamptz OR asked_at > clock_timestamp(), true) AS newest
     FROM fleet_lists WHERE fleet = $2 FOR UPDATE`,
    [askedAt, fleet],
  );
  return rows[0]?.newest === true;
}

async function writeList(
  transaction: pg.PoolClient,
  { askedAt, sentinels }: DatedList,
  { fleet, limitPercent, confirmedBy, keepsLogs }: WriteTerms,
): Promise<void> {
  const ids = sentinels.map(({ id }) => id);
  const { rows } = await transaction.query<{ known: number; missing: number }>(
    // Locked in the same order as deploys lock them, so that there is no deadlock.
    `SELECT count(*)::int AS known, count(*) FILTER (WHERE id <> ALL($1))::int AS missing
     FROM (SELECT id FROM sentinels WHERE fleet = $2 ORDER BY id FOR UPDATE) AS locked`,
    [ids, fleet],
  );
  const { known = 0, missing = 0 } = rows[0] ?? {};
  refuseList({ fleet, known, missing, listed: ids.length }, limitPercent);
  const images = sentinels.map(({ image }) => image);
  const equal = await findEqual(transaction, ids, images);
  await transaction.query(upsertFleet, [
    ids,
    sentinels.map(({ region }) => region),
    images,
    sentinels.map(({ running_image }) => running_image ?? null),
    sentinels.map(({ healthy }) => (healthy ? "healthy" : "unhealthy")),
    askedAt,
    sentinels.map(({ labels = {} }) => JSON.stringify(labels)),
    fleet,
    equal.map(({ ordered }) => ordered),
    equal.map(({ listed }) => listed),
  ]);
  await transaction.query("DELETE FROM sentinels WHERE fleet = $2 AND id <> ALL($1)", [ids, fleet]);
  await transaction.query(forgetLogs, [fleet, keepsLogs]);
  await transaction.query(
    `UPDATE fleet_lists SET asked_at = $1, problem = NULL, problem_at = NULL,
       confirmed_by = coalesce($2, confirmed_by),
       confirmed_at = CASE WHEN $2::text IS NULL THEN confirmed_at ELSE now() END
     WHERE fleet = $3`,
    [askedAt, confirmedBy, fleet],
  );
}

/** By which other names the fleet lists what its sentinels were ordered to run. */
async function findEqual(transaction: pg.PoolClient, ids: string[], images: string[]) {
  const { rows } = await transaction.query<{ ordered: string; listed: string }>(
    `SELECT DISTINCT s.image AS ordered, t.image AS listed
     FROM unnest($1::text[], $2::text[]) AS t (id, image) JOIN sentinels AS s USING (id)
     WHERE s.image <> t.image`,
    [ids, images],
  );
  return rows.filter(({ ordered, listed }) => compareImages(ordered, listed) !== "other");
}

async function readMembers(transaction: pg.PoolClient, fleet: string): Promise<FleetMember[]> {
  const { rows } = await transaction.query<FleetMember>(
    `SELECT id, region, image, running_image, health, labels FROM sentinels
     WHERE fleet = $1 ORDER BY id`,
    [fleet],
  );
  return rows;
}

const saveProblem = `
  INSERT INTO fleet_lists AS l (fleet, problem, problem_at) VALUES ($1, $2, now())
  ON CONFLICT (fleet) DO UPDATE SET problem = excluded.problem, problem_at = excluded.problem_at`;

const forgetLogs = `
  DELETE FROM sentinel_logs AS l USING sentinels AS s
  WHERE s.id = l.sentinel_id AND s.fleet = $1 AND (NOT $2 OR l.at < now() - interval '30 days')`;

// A fleet that lists no running image may list the image of a deploy that has failed or is in progress:
// then the image that we saw running before is kept as the running one. An ordered image keeps the name of
// its order, whatever the fleet calls it. The ordered image of a deploy in progress is not changed, nor is
// a row that a deploy has written after the list was requested. Rows are
// dated by that time, so that the next list, requested while this one is written, counts as newer.
const upsertFleet = `
  INSERT INTO sentinels AS s
    (id, region, image, running_image, deploy_status, health, labels, updated_at, fleet)
  SELECT t.id, t.region, coalesce(equal.ordered, t.image),
    coalesce(t.running_image,
      CASE WHEN known.deploy_status <> 'ready' AND known.image = coalesce(equal.ordered, t.image)
        THEN nullif(known.running_image, CASE t.health WHEN 'healthy' THEN '' END) END,
      t.image),
    'ready', t.health, t.labels::jsonb, $6::timestamptz, $8::text
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $7::text[])
    AS t (id, region, image, running_image, health, labels)
    LEFT JOIN sentinels AS known ON known.id = t.id
    LEFT JOIN unnest($9::text[], $10::text[]) AS equal (ordered, listed)
      ON equal.ordered = known.image AND equal.listed = t.image
  ON CONFLICT (id) DO UPDATE SET
    fleet = excluded.fleet, region = excluded.region, health = excluded.health, labels = excluded.labels,
    image = CASE s.deploy_status WHEN 'progressing' THEN s.image ELSE excluded.image END,
    running_image = excluded.running_image,
    updated_at = excluded.updated_at
  WHERE (s.updated_at <= excluded.updated_at OR s.updated_at > clock_timestamp())
    AND (s.fleet, s.region, s.image, s.running_image, s.health, s.labels) IS DISTINCT FROM
      (excluded.fleet, excluded.region, excluded.image, excluded.running_image, excluded.health, excluded.labels)`;
