/** The table `sentinels`: the fleet as last observed. */
import type { Database } from "#kernel/database.ts";
import type { FleetMember, Sentinel } from "./contract.ts";
import type { ListedSentinel } from "./drivers/driver.ts";
import { createGroupWriter } from "./group-writer.ts";

/** What a deploy writes about its sentinel. */
export type DeployRecord = {
  id: string;
  image: string;
  status: Sentinel["deploy_status"];
  reason?: string | undefined;
  /** Absent: as it was. */
  runningImage?: string | undefined;
};

export type FleetStore = ReturnType<typeof createFleetStore>;

export function createFleetStore(database: Database) {
  const writer = createGroupWriter<DeployRecord>((records) => writeRecords(database, records));
  return {
    /** Writes how a deploy goes. Resolves once it is committed. */
    record: (record: DeployRecord): Promise<void> => writer.write(record),

    /** Marks a deploy that is still at work as failed; one that has ended keeps its result. */
    async abandon({ id, image, reason }: { id: string; image: string; reason: string }) {
      await database.query(abandonDeploy, [id, image, reason]);
    },

    /** Brings the table in step with the fleet's own list, and answers it with what we know besides. */
    async sync(listed: readonly ListedSentinel[]): Promise<FleetMember[]> {
      await database.query(upsertFleet, [
        listed.map(({ id }) => id),
        listed.map(({ region }) => region),
        listed.map(({ image }) => image),
        listed.map(({ running_image }) => running_image ?? null),
        listed.map(({ healthy }) => (healthy ? "healthy" : "unhealthy")),
      ]);
      await database.query("DELETE FROM sentinels WHERE id <> ALL($1)", [
        listed.map(({ id }) => id),
      ]);
      const { rows } = await database.query<FleetMember>(
        "SELECT id, region, image, running_image FROM sentinels ORDER BY id",
      );
      return rows;
    },

    /** One page of the fleet, ordered by id, from after `cursor` on. */
    async list(page: { limit: number; cursor?: string | undefined }): Promise<Sentinel[]> {
      const { rows } = await database.query(listPage, [page.cursor ?? "", page.limit]);
      return rows.map((row) => ({ ...row, updated_at: row.updated_at.toISOString() }));
    },
  };
}

async function writeRecords(database: Database, records: readonly DeployRecord[]): Promise<void> {
  await database.query(updateSentinels, [
    records.map(({ id }) => id),
    records.map(({ image }) => image),
    records.map(({ status }) => status),
    records.map(({ reason }) => reason ?? null),
    records.map(({ runningImage }) => runningImage ?? null),
  ]);
}

const updateSentinels = `
  UPDATE sentinels AS s SET
    previous_image = CASE WHEN s.image <> t.image THEN s.running_image ELSE s.previous_image END,
    image = t.image, deploy_status = t.status, deploy_reason = t.reason,
    running_image = coalesce(t.running_image, s.running_image),
    health = CASE t.status WHEN 'ready' THEN 'healthy' WHEN 'failed' THEN 'unknown' ELSE s.health END,
    updated_at = now()
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
    AS t (id, image, status, reason, running_image)
  WHERE s.id = t.id`;

const abandonDeploy = `
  UPDATE sentinels SET deploy_status = 'failed', deploy_reason = $3, health = 'unknown',
    updated_at = now()
  WHERE id = $1 AND image = $2 AND deploy_status = 'progressing'`;

// A fleet that names no running image may list the one that a failed deploy asked for: then what we
// saw running before still runs. The image that a deploy at work has asked for is left alone.
const upsertFleet = `
  INSERT INTO sentinels AS s (id, region, image, running_image, deploy_status, health)
  SELECT id, region, image, coalesce(running_image, image), 'ready', health
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
    AS t (id, region, image, running_image, health)
  ON CONFLICT (id) DO UPDATE SET
    region = excluded.region, health = excluded.health,
    image = CASE s.deploy_status WHEN 'progressing' THEN s.image ELSE excluded.image END,
    running_image = CASE
      WHEN s.deploy_status = 'failed' AND s.image = excluded.image
        AND excluded.running_image = excluded.image THEN s.running_image
      ELSE excluded.running_image END,
    updated_at = now()
  WHERE (s.region, s.image, s.running_image, s.health)
      IS DISTINCT FROM (excluded.region, excluded.image, excluded.running_image, excluded.health)`;

const listPage = `
  SELECT id, region, image, running_image, previous_image, deploy_status, deploy_reason, health,
    updated_at
  FROM sentinels WHERE id > $1 ORDER BY id LIMIT $2`;
