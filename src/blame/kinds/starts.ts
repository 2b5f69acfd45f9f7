/** Starts and stops of our own parts, and the settings that differ from those of the start before. */
import { cleanText, someOf } from "#kernel/text.ts";
import { type KindOfChange, msOf, type Row } from "./kind.ts";

export const starts: KindOfChange = {
  // A stop that no start has followed is a change of its own.
  sql: `
    SELECT s.id, s.part, s.version, ${msOf("s.started_at")} AS started_ms, ${msOf("s.stopped_at")} AS stopped_ms,
      s.settings, p.version AS version_before, p.settings AS settings_before,
      ${msOf("p.stopped_at")} AS before_ms
    FROM process_starts s LEFT JOIN LATERAL (
      SELECT * FROM process_starts p WHERE p.part = s.part AND p.started_at < s.started_at
      ORDER BY p.started_at DESC LIMIT 1
    ) p ON true
    WHERE s.started_at BETWEEN $1 AND $2 OR s.stopped_at BETWEEN $1 AND $2 AND NOT EXISTS (
      SELECT FROM process_starts n WHERE n.part = s.part AND n.started_at > s.started_at)
    ORDER BY s.started_at DESC LIMIT 50`,

  toChange(row) {
    const { id, part, started_ms, stopped_ms, before_ms } = row;
    const changed = stopped_ms === null ? changedSettings(row) : [];
    const parts = (part as string).split("+");
    return {
      id: `start:${id}`,
      kind: changed.length > 0 ? "settings" : "restart",
      atMs: stopped_ms ?? Math.min(before_ms ?? started_ms, started_ms),
      ...(stopped_ms === null && { untilMs: started_ms }),
      who: part,
      summary: describe(row, changed),
      reach: {
        of: "part",
        touched: Object.fromEntries(parts.map((one) => [one, 1])),
        total: Math.max(allParts, parts.length),
      },
    };
  },
};

/** worker, control and api. */
const allParts = 3;

function describe({ part, version, version_before, stopped_ms }: Row, changed: string[]): string {
  if (stopped_ms !== null) return `${part} stopped`;
  if (version_before === null) return `${part} started for the first time`;
  const newer = version === version_before ? "" : ` with version ${cleanText(version, 40)}`;
  const settings = changed.length === 0 ? "" : `, with other settings (${someOf(changed, 5)})`;
  return `${part} restarted${newer}${settings}`;
}

/** The names of settings that have another digest, or are only in one of the two; empty: none is known to differ. */
function changedSettings({ settings, settings_before: before }: Row): string[] {
  if (before === null) return [];
  const names = [...new Set([...Object.keys(settings), ...Object.keys(before)])];
  return names.filter((name) => settings[name] !== before[name]).toSorted();
}
