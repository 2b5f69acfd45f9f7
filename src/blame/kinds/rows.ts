/** Changes of rows that somebody applied: the definitions, and alert routes at the incident service. */
import { cleanText, someOf } from "#kernel/text.ts";
import { type KindOfChange, msOf } from "./kind.ts";

/** Only the checks and heartbeats whose rows changed can fail by them. */
export const definitions: KindOfChange = {
  sql: `
    SELECT revision, source, applied_by, ${msOf("applied_at")} AS at_ms, changes,
      coalesce(jsonb_array_length(rows -> 'checks'), 0)
        + coalesce(jsonb_array_length(rows -> 'heartbeats'), 0) AS checks
    FROM definitions WHERE applied_at BETWEEN $1 AND $2 ORDER BY revision DESC LIMIT 10`,

  toChange({ revision, applied_by, at_ms, changes, checks }) {
    const made = (changes as { section: string; key: string; kind: string }[]).filter(
      ({ kind }) => kind !== "leave",
    );
    const touched = made.filter(({ section }) => section === "checks" || section === "heartbeats");
    const sections = [...Map.groupBy(made, ({ section }) => section)];
    const what = sections.map(([section, rows]) => `${rows.length} of ${section}`);
    return {
      id: `definitions:${revision}`,
      kind: "definitions",
      atMs: at_ms,
      who: cleanText(applied_by, 100),
      summary: `revision ${revision} of the definitions changed ${someOf(what, 4) || "nothing"}`,
      reach: {
        of: "check",
        touched: Object.fromEntries(touched.map(({ key }) => [key, 1])),
        total: Math.max(checks, touched.length, 1),
      },
    };
  },
};

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
