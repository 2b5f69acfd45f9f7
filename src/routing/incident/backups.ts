/** Stores the alert routes as they were before each apply. */
import { z } from "zod";
import { type AuditRecord, actorOf, recordAudit } from "#kernel/audit.ts";
import type { Database } from "#kernel/database.ts";
import { type ApplyResult, Backup, type BackupList } from "#routing/incident/contract.ts";

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
    save: async (
      name: string,
      { by, ...backup }: Omit<Backup, "format"> & Pick<ApplyResult, "by">,
    ) => {
      const { incident_url, made_at, alert_routes } = backup;
      const row = [name, made_at, incident_url, JSON.stringify(alert_routes)];
      await database.query(insert, row);
      await database.query(removeOld, [kept]);
      const description = `Started to apply alert routes at ${incident_url}`;
      await recordAudit(database, [toAudit("start", { apply_id: name, by }, { description })]);
    },
    recordEnd: async (result: ApplyResult) => {
      const { outcome, routes, total } = result;
      const description = `Applied alert routes: ${outcome}, ${routes.length} of ${total}`;
      const meta = { routes: routes.map(({ name, outcome: of }) => ({ name, outcome: of })) };
      await recordAudit(database, [toAudit("end", result, { description, meta })]);
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

/** One record of the start and one of the end of each apply, however often their steps are repeated. */
function toAudit(
  moment: "start" | "end",
  { apply_id: id, by }: Pick<ApplyResult, "apply_id" | "by">,
  rest: Pick<AuditRecord, "description" | "meta">,
): AuditRecord {
  const event = moment === "start" ? "routes.apply" : "routes.applied";
  const targets = [{ type: "alertRoutes", id }];
  return { event, actor: actorOf(by), targets, key: `routes:${id}:${moment}`, ...rest };
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
