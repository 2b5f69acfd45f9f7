/** Reads sentinels beside their part in a rollout. */
import type { Database } from "#kernel/database.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { SentinelDetail } from "./contract.ts";
import type { FleetRow } from "./fleet-columns.ts";

export type FleetReader = ReturnType<typeof createFleetReader>;

export function createFleetReader(database: Database) {
  return {
    /** The fleet as it is, ordered by region and id. */
    async live(rolloutId: string | null): Promise<FleetRow[]> {
      return (await database.query<FleetRow>(selectLive, [rolloutId ?? ""])).rows;
    },

    /** The members of a past rollout, with what became of them in it. */
    async past(rolloutId: string): Promise<FleetRow[]> {
      return (await database.query<FleetRow>(selectPast, [rolloutId])).rows;
    },

    /** Throws 404 for a sentinel that is gone. */
    async one(id: string, rolloutId: string | null): Promise<SentinelDetail> {
      const { rows } = await database.query(`${selectOne} WHERE s.id = $2`, [rolloutId ?? "", id]);
      const [row] = rows;
      if (row === undefined) {
        const detail = `there is no sentinel ${id} any more`;
        throw new ProblemError({ status: 404, code: "not_found", detail });
      }
      return { ...row, updated_at: row.updated_at.toISOString() };
    },
  };
}

const part = `m.wave, m.outcome, m.reason AS outcome_reason`;

const selectLive = `
  SELECT s.id, s.region, s.image, s.running_image, s.deploy_status, s.deploy_reason, ${part}
  FROM sentinels s LEFT JOIN rollout_sentinels m ON m.rollout_id = $1 AND m.sentinel_id = s.id
  ORDER BY s.region, s.id`;

const selectOne = `
  SELECT s.*, ${part}
  FROM sentinels s LEFT JOIN rollout_sentinels m ON m.rollout_id = $1 AND m.sentinel_id = s.id`;

const selectPast = `
  SELECT m.sentinel_id AS id, coalesce(s.region, 'gone') AS region, '' AS image,
    '' AS running_image, 'ready' AS deploy_status, NULL AS deploy_reason, ${part}
  FROM rollout_sentinels m LEFT JOIN sentinels s ON s.id = m.sentinel_id
  WHERE m.rollout_id = $1 ORDER BY coalesce(s.region, 'gone'), m.sentinel_id`;
