/** Applies of alert routes, known by the backup that each makes first. They change who is notified, not what fails. */
import { type KindOfChange, msOf } from "./kind.ts";

export const routes: KindOfChange = {
  sql: `
    SELECT backup, ${msOf("made_at")} AS at_ms
    FROM alert_route_backups WHERE made_at BETWEEN $1 AND $2 ORDER BY made_at DESC LIMIT 20`,

  toChange: ({ backup, at_ms }) => ({
    id: `routes:${backup}`,
    kind: "routes",
    atMs: at_ms,
    who: null,
    summary: "alert routes were applied at the incident service",
    reach: { of: "delivery", touched: { routes: 1 }, total: 1 },
  }),
};
