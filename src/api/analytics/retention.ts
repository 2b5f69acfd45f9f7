/** How long each table keeps its rows, and with it how far back a query may ask. */

export const rollups = ["minute", "hour", "day", "month"] as const;
export type Rollup = (typeof rollups)[number];

/** Days that a rollup is kept at least. */
const rollupDays: Record<Rollup, number> = { minute: 90, hour: 365, day: 1_095, month: 1_825 };

export type Retention = Record<"raw" | Rollup, number>;

/** In days. Rollups are kept at least as long as the rows themselves. */
export function retentionFrom(rawDays: number): Retention {
  const kept = rollups.map((rollup) => [rollup, Math.max(rollupDays[rollup], rawDays)] as const);
  return { raw: rawDays, ...(Object.fromEntries(kept) as Record<Rollup, number>) };
}
