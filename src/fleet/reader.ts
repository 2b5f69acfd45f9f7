/** Reads the table `sentinels` for pages that show a fleet. */
import type { Queries } from "#kernel/database.ts";

/** The fields of a sentinel that the map of the fleet shows. */
export type MappedSentinel = {
  id: string;
  region: string;
  image: string;
  running_image: string;
  deploy_status: string;
  deploy_reason: string | null;
  /** True if its last order was given after the requested time. */
  is_ordered: boolean;
};

type SentinelRow = Omit<MappedSentinel, "is_ordered"> & {
  previous_image: string | null;
  health: string;
  labels: Record<string, string>;
  updated_at: string;
};

export function createFleetReader(database: Queries) {
  return {
    /** All of a fleet, ordered by region and id. `since` is ISO 8601; null: no order is after it. */
    async all(fleet: string, since: string | null): Promise<MappedSentinel[]> {
      return (await database.query<MappedSentinel>(selectAll, [fleet, since])).rows;
    },

    /** undefined: there is no sentinel with this id. */
    async one(id: string): Promise<SentinelRow | undefined> {
      const { rows } = await database.query("SELECT * FROM sentinels WHERE id = $1", [id]);
      const [row] = rows;
      return row && { ...row, updated_at: row.updated_at.toISOString() };
    },
  };
}

const selectAll = `
  SELECT id, region, image, running_image, deploy_status, deploy_reason,
    coalesce(ordered_at > $2::timestamptz, false) AS is_ordered
  FROM sentinels WHERE fleet = $1 ORDER BY region, id`;
