/** The retention of each table, which is also how far back a query may read. */

export const rollups = ["minute", "hour", "day", "month"] as const;
export type Rollup = (typeof rollups)[number];

/** The minimum retention of each rollup, in days. */
const rollupDays: Record<Rollup, number> = { minute: 90, hour: 365, day: 1_095, month: 1_825 };

export type Retention = Record<"raw" | Rollup, number>;

/** Returns the days of each table. Rollups are retained at least as long as the raw rows. */
export function retentionFrom(rawDays: number): Retention {
  const kept = rollups.map((rollup) => [rollup, Math.max(rollupDays[rollup], rawDays)] as const);
  return { raw: rawDays, ...(Object.fromEntries(kept) as Record<Rollup, number>) };
}
