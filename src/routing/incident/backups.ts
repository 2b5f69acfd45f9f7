/** Stores the alert routes as they were before each apply. */
import { z } from "zod";
import type { Database } from "#kernel/database.ts";
import { Backup, type BackupList } from "#routing/incident/contract.ts";

export type BackupStore = ReturnType<typeof createBackupStore>;

/** People start applies, and rarely: the last hundred backups cover months. */
const kept = 100;

const ListRow = z.object({ backup: z.string(), made_at: z.date(), alert_routes: z.number() });
const Row = z.object({
  made_at: z.date(),
  incident_url: z.string(),
  alert_routes: Backup.shape.alert_routes,
});

export function createBackupStore(database: Database) {
  return {
    /** A second backup of the same name is ignored: the first was made before anything was written. */
    save: async (name: string, { incident_url, made_at, alert_routes }: Omit<Backup, "format">) => {
      const row = [name, made_at, incident_url, JSON.stringify(alert_routes)];
      await database.query(insert, row);
      await database.query(removeOld, [kept]);
    },
    list: async (): Promise<BackupList> => {
      const { rows } = await database.query(selectAll, [kept]);
      const backups = z.array(ListRow).parse(rows);
      return { backups: backups.map((row) => ({ ...row, made_at: row.made_at.toISOString() })) };
    },
    /** null: there is none of this name. */
    read: async (name: string): Promise<Backup | null> => {
      const { rows } = await database.query(select, [name]);
      if (rows[0] === undefined) return null;
      const row = Row.parse(rows[0]);
      return { format: "vedette-alert-backup-1", ...row, made_at: row.made_at.toISOString() };
    },
  };
}

const insert = `
  INSERT INTO alert_route_backups (backup, made_at, incident_url, alert_routes)
  VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`;

const removeOld = `
  DELETE FROM alert_route_backups WHERE backup IN (
    SELECT backup FROM alert_route_backups ORDER BY made_at DESC, backup OFFSET $1)`;

const selectAll = `
  SELECT backup, made_at, json_array_length(alert_routes) AS alert_routes
  FROM alert_route_backups ORDER BY made_at DESC, backup LIMIT $1`;

const select =
  "SELECT made_at, incident_url, alert_routes FROM alert_route_backups WHERE backup = $1";
