/** The table `sentinels`: the fleet as last observed. */
import type { Database } from "#kernel/database.ts";
import { createGroups } from "#kernel/groups.ts";
import { compareImages } from "#kernel/image-reference.ts";
import type { FleetMember, ReasonCode, Sentinel } from "./contract.ts";

// Runs whose orders may no longer be sent. A stop is permanent, so that it is effective whatever is
// killed, repeated or delayed.

/** The number of stopped runs that this process remembers: no orders of older ones can be pending. */
const maxRemembered = 1_000;

function createStoppedRuns(database: Database) {
  const stopped = new Set<string>();
  const unsent = new Set<string>();
  return {
    /** Deploys with a first permission of this process and an order still unsent. Their rows say that they are ordered. */
    unsent,

    /** Stops a run for good. Once it has resolved this process sends no order of it, not even a permitted one. */
    async stopRun(run: string): Promise<void> {
      await database.query(insertStop, [run]);
      stopped.add(run);
      const [oldest] = stopped;
      if (stopped.size > maxRemembered && oldest !== undefined) stopped.delete(oldest);
    },

    /**
     * Counts those of these sentinels that were last ordered by one of these runs, ended deploys included. One that is
     * no longer in the fleet's list counts too, since it may have been. Call it after `stopRun`: then this process
     * sends nothing that it has not sent yet.
     */
    async countOrdered(runs: readonly string[], ids: readonly string[]): Promise<number> {
      const neverSent = new Set(unsent);
      const { rows } = await database.query(findOrderedOf, [runs, ids]);
      // Some had no answer to their permission yet.
      for (const deploy of unsent) neverSent.add(deploy);
      return rows.filter(({ deploy_id }) => !neverSent.has(deploy_id)).length;
    },

    /** Returns those of these sentinels, given with a deploy each, whose last order is of that deploy; with `run`: and of it. */
    async findOrdered(deploys: ReadonlyMap<string, string>, run?: string): Promise<string[]> {
      const values = [[...deploys.keys()], [...deploys.values()], run];
      const { rows } = await database.query<{ id: string }>(findOrderedBy, values);
      return rows.map(({ id }) => id);
    },

    /** True if this process has stopped the run; another one may have. */
    isStoppedHere: (run: string | undefined): boolean => run !== undefined && stopped.has(run),

    /**
     * Restores the row of a sentinel whose order was not sent, unless a later run wants the same deploy by now. Another
     * deploy in progress was killed: marked as failed.
     */
    async putBack({ id, deployId }: { id: string; deployId: string }): Promise<void> {
      await database.query(putBackSentinel, [id, deployId]);
      await database.query(endKilled, [id, killedReason, deployId]);
    },
  };
}

const killedReason = `${"cancelled" satisfies ReasonCode}: its deploy was killed`;

const endKilled = `
  UPDATE sentinels SET deploy_status = 'failed', deploy_reason = $2, health = 'unknown',
    updated_at = now()
  WHERE id = $1 AND deploy_status = 'progressing' AND deploy_id IS DISTINCT FROM $3`;

const insertStop = "INSERT INTO stopped_runs (run) VALUES ($1) ON CONFLICT DO NOTHING";

const findOrderedOf = `
  SELECT s.deploy_id FROM unnest($2::text[]) AS t (id) LEFT JOIN sentinels AS s USING (id)
  WHERE s.id IS NULL OR s.deploy_run = ANY($1::text[])`;

const findOrderedBy = `
  SELECT s.id FROM unnest($1::text[], $2::text[]) AS t (id, deploy_id) JOIN sentinels AS s USING (id, deploy_id)
  WHERE coalesce(s.deploy_run = $3::text, $3 IS NULL)`;

// A deploy that was in progress before this one has ended without a result: none is in progress now.
const putBackSentinel = `
  UPDATE sentinels SET
    image = before_deploy->>'image', previous_image = before_deploy->>'previous_image',
    deploy_status = CASE before_deploy->>'status' WHEN 'progressing' THEN 'failed'
      ELSE before_deploy->>'status' END,
    deploy_reason = before_deploy->>'reason',
    deploy_id = NULL, deploy_run = NULL, ordered_at = NULL, before_deploy = NULL,
    updated_at = now()
  WHERE id = $1 AND deploy_id = $2 AND deploy_status = 'progressing'
    AND EXISTS (SELECT FROM stopped_runs AS r WHERE r.run = deploy_run)`;

/** The progress of a deploy, as it is written for its sentinel. */
export type DeployRecord = {
  id: string;
  image: string;
  status: Sentinel["deploy_status"];
  reason?: string | undefined;
  /** Absent: as it was. */
  runningImage?: string | undefined;
  /** Only with `failed`: whether it serves all the same; absent: not known. */
  healthy?: boolean | undefined;
  /** The deploy whose order is about to be sent; only with `progressing`. */
  deployId?: string | undefined;
  /** The run that wants it; absent: none, and it is always wanted. */
  run?: string | undefined;
  /** Changes nothing while another deploy of the sentinel is in progress. */
  onlyIfIdle?: boolean | undefined;
  /** The ended deploy. Ignored once another one's order was sent: an attempt that hung may end at any time. */
  endedId?: string | undefined;
};

/** The outcome of a record. A record of a stopped run changes nothing. */
export type RecordResult = {
  isStopped: boolean;
  /** The time since this deploy's order had permission to be sent; null: never. */
  orderedMsAgo: number | null;
  /** True if the deploy before this one wanted the same image and did not end well. */
  failedBefore?: boolean;
  /** Another deploy of the sentinel was ordered after this one: the record is late, and changes nothing. */
  isFollowed?: boolean;
  /** With `onlyIfIdle`: another deploy is in progress. */
  isBusy?: boolean;
};

type Page = { fleet: string; limit: number; cursor?: string | undefined };

export type FleetStore = ReturnType<typeof createFleetStore>;

export function createFleetStore(database: Database) {
  const record = createGroups(
    (records: readonly DeployRecord[]) => writeRecords(database, records),
    // A slow database fails the group that it was asked for alone: the others may well be written.
    { idOf: ({ id }) => id, failsAlone: true, unresponsiveAfterMs: Number.POSITIVE_INFINITY },
  );
  return {
    ...createStoppedRuns(database),

    /** Writes the progress of a deploy. Resolves once it is committed. */
    record: (given: DeployRecord): Promise<RecordResult> => record(given),

    /** Marks a deploy in progress as failed; one that has ended keeps its result. */
    async abandon({ id, image, reason }: { id: string; image: string; reason: string }) {
      await database.query(abandonDeploy, [id, image, reason]);
    },

    /** Notes that the sentinel is ready, for the deploy of this image in progress. False: there is none. */
    async recordPush({ id, image }: { id: string; image: string }): Promise<boolean> {
      const { rows } = await database.query<{ image: string }>(findDeploying, [id]);
      const ordered = rows[0]?.image ?? "";
      if (compareImages(ordered, image) === "other") return false;
      return (await database.query(insertPush, [id, ordered])).rowCount !== 0;
    },

    async wasPushed({ id, deployId }: { id: string; deployId: string }): Promise<boolean> {
      return (await database.query(findPush, [id, deployId])).rowCount !== 0;
    },

    /** Returns those of these sentinels that are known. */
    async members(ids: readonly string[]): Promise<FleetMember[]> {
      return (await database.query<FleetMember>(membersById, [ids])).rows;
    },

    /** One page of a fleet, ordered by id, from after `cursor` on. */
    async list({ fleet, cursor = "", limit }: Page): Promise<Sentinel[]> {
      const { rows } = await database.query(listPage, [cursor, limit, fleet]);
      return rows.map((row) => ({ ...row, updated_at: row.updated_at.toISOString() }));
    },
  };
}

async function writeRecords(
  database: Database,
  records: readonly DeployRecord[],
): Promise<RecordResult[]> {
  const values = [
    records.map(({ id }) => id),
    records.map(({ image }) => image),
    records.map(({ status }) => status),
    records.map(({ reason }) => reason ?? null),
    records.map(({ runningImage }) => runningImage ?? null),
    records.map(({ deployId }) => deployId ?? null),
    records.map(({ run }) => run ?? null),
    records.map(({ endedId }) => endedId ?? null),
    records.map(({ onlyIfIdle = false }) => onlyIfIdle),
    records.map(({ healthy }) => healthy ?? null),
  ];
  // Prepared: to plan it takes as long as to write twenty rows.
  const { rows } = await database.query({ name: "record-deploys", text: updateSentinels, values });
  const byId = new Map(rows.map((row) => [row.id as string, row]));
  return records.map(({ id, image }) => {
    const row = byId.get(id) ?? {};
    return {
      isStopped: row.is_stopped,
      orderedMsAgo: row.ordered_ms_ago,
      failedBefore: row.failed_before && compareImages(row.image_before, image) !== "other",
      isFollowed: row.is_followed,
      isBusy: row.is_busy,
    };
  });
}

// The statement that writes also checks whether the run was stopped, which saves a round trip; its other
// results are from the row as it was before. A sentinel that is not in the table may have been ordered:
// only the fleet can say then. The ids of the last few deploys are kept, so that a late order of an
// attempt that hung is recognised. Every statement that writes several rows locks them by id, so that
// there is no deadlock.
const updateSentinels = `
  WITH t AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
      $7::text[], $8::text[], $9::boolean[], $10::boolean[])
      AS t (id, image, status, reason, running_image, deploy_id, run, ended_id, only_if_idle, healthy)
  ), asked AS (
    SELECT t.*, EXISTS (SELECT FROM stopped_runs AS r WHERE r.run = t.run) AS is_stopped FROM t
  ), updated AS (
    UPDATE sentinels AS s SET
      previous_image = CASE WHEN s.image <> t.image THEN coalesce(nullif(s.running_image, ''), s.previous_image)
        ELSE s.previous_image END,
      image = t.image, deploy_status = t.status, deploy_reason = t.reason,
      running_image = coalesce(t.running_image, s.running_image),
      health = CASE WHEN t.status = 'ready' OR t.healthy THEN 'healthy' WHEN NOT t.healthy THEN 'unhealthy'
        WHEN t.status = 'failed' THEN 'unknown' ELSE s.health END,
      deploy_id = coalesce(t.deploy_id, s.deploy_id),
      deploy_run = CASE WHEN t.deploy_id IS NULL THEN s.deploy_run ELSE t.run END,
      ordered_at = CASE WHEN t.deploy_id IS NULL THEN s.ordered_at ELSE now() END,
      before_deploy = CASE WHEN t.deploy_id IS NULL OR t.deploy_id = s.deploy_id
        THEN s.before_deploy
        ELSE jsonb_build_object('image', s.image, 'previous_image', s.previous_image,
          'status', s.deploy_status, 'reason', s.deploy_reason,
          'deploys', jsonb_path_query_array(jsonb_build_array(s.deploy_id)
            || coalesce(s.before_deploy->'deploys', '[]'), '$[0 to 3]')) END,
      updated_at = now()
    FROM asked AS t
      JOIN (SELECT id FROM sentinels WHERE id = ANY($1) ORDER BY id FOR UPDATE) AS locked USING (id)
    WHERE s.id = t.id AND NOT t.is_stopped
      AND (t.ended_id IS NULL OR s.deploy_id IS NULL OR s.deploy_id = t.ended_id)
      AND NOT coalesce(s.before_deploy->'deploys' ? t.deploy_id, false)
      AND NOT (t.only_if_idle AND s.deploy_status = 'progressing'
        AND s.deploy_id IS DISTINCT FROM t.deploy_id)
    RETURNING s.id
  )
  SELECT t.id, t.is_stopped,
    CASE WHEN s.id IS NULL THEN 1e12 WHEN s.deploy_id = t.deploy_id
      THEN (extract(epoch FROM now() - s.ordered_at) * 1000)::float8 END AS ordered_ms_ago,
    coalesce(CASE WHEN s.deploy_id = t.deploy_id THEN s.before_deploy->>'image' ELSE s.image END, '')
      AS image_before,
    coalesce(CASE WHEN s.deploy_id = t.deploy_id THEN s.before_deploy->>'status' ELSE s.deploy_status END
      <> 'ready', false) AS failed_before,
    coalesce(s.before_deploy->'deploys' ? t.deploy_id, false) AS is_followed,
    t.only_if_idle AND s.id IS NOT NULL AND u.id IS NULL AND (
      s.deploy_status = 'progressing' AND s.deploy_id IS DISTINCT FROM t.deploy_id
      OR NOT t.is_stopped AND NOT coalesce(s.before_deploy->'deploys' ? t.deploy_id, false)
    ) AS is_busy
  FROM asked AS t LEFT JOIN sentinels AS s ON s.id = t.id LEFT JOIN updated AS u ON u.id = t.id`;

const abandonDeploy = `
  UPDATE sentinels SET deploy_status = 'failed', deploy_reason = $3, health = 'unknown',
    updated_at = now()
  WHERE id = $1 AND image = $2 AND deploy_status = 'progressing'`;

const findDeploying = `
  SELECT image FROM sentinels WHERE id = $1 AND deploy_status = 'progressing'`;

const insertPush = `
  UPDATE sentinels SET pushed_deploy = deploy_id
  WHERE id = $1 AND image = $2 AND deploy_status = 'progressing'`;

const findPush = "SELECT FROM sentinels WHERE id = $1 AND pushed_deploy = $2";

const membersById = `
  SELECT id, region, image, running_image, health, labels FROM sentinels WHERE id = ANY($1)`;

const listPage = `
  SELECT id, region, image, running_image, previous_image, deploy_status, deploy_reason, health,
    labels, updated_at
  FROM sentinels WHERE fleet = $3 AND id > $1 ORDER BY id LIMIT $2`;
