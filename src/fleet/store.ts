/** The table `sentinels`: the fleet as last observed. */
import type { Database } from "#kernel/database.ts";
import type { Sentinel } from "./contract.ts";
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

const listPage = `
  SELECT id, region, image, running_image, previous_image, deploy_status, deploy_reason, health,
    updated_at
  FROM sentinels WHERE id > $1 ORDER BY id LIMIT $2`;
