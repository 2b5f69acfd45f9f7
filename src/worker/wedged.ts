/** Finds invocations that this version cannot continue, because another version wrote their journal. */
import { readJournals } from "./journals.ts";
import type { RestateAdmin } from "./restate-admin.ts";

/** An invocation that cannot continue. */
export type WedgedInvocation = {
  id: string;
  service: string;
  /** null: the service has no keys. */
  key: string | null;
  handler: string;
  /** The invocation that called it; null: a caller from outside of Restate. */
  parent: string | null;
  /** The revision that started it; null: it never ran. */
  revision: string | null;
};

/** `startedAt`: when its last attempt was made. */
type StuckInvocation = WedgedInvocation & { startedAt: string | null };

type StuckRow = Omit<StuckInvocation, "revision"> & { endpoint: string | null };

export function createWedgedReader(
  admin: RestateAdmin,
  of: { workerUrl: string; services: readonly string[] },
) {
  const base = `${of.workerUrl}/rev-`;
  const names = of.services.map(quote).join(", ");
  return {
    /** The invocations at our address that failed because their journal doesn't match the code. */
    async stuck(): Promise<StuckInvocation[]> {
      const rows = await admin.query<StuckRow>(findStuck(names, base));
      return rows.map(({ endpoint, ...row }) => ({
        ...row,
        revision: endpoint === null ? null : endpoint.slice(base.length).replace(/\/$/, ""),
      }));
    },

    /** The invocations that another revision started at our address and that have not ended. */
    async inherited(revision: string): Promise<{ id: string; status: string }[]> {
      return admin.query(findInherited(names, { base, own: `${base}${revision}` }));
    },

    /** Their arguments and the calls that they have sent; nothing for those whose journal is gone. */
    journals: (invocations: readonly string[]) => readJournals(admin, invocations),
  };
}

export type WedgedReader = ReturnType<typeof createWedgedReader>;

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

// RT0016: the journal differs from what the code does now. RT0012: the code has no such handler.
// For an invocation paused by its retry policy only the events have the last failure.
const findStuck = (names: string, base: string) => `
  SELECT i.id, i.target_service_name AS service, i.target_service_key AS key,
    i.target_handler_name AS handler, i.invoked_by_id AS parent, i.last_start_at AS "startedAt",
    d.endpoint
  FROM sys_invocation i
  LEFT JOIN sys_deployment d ON d.id = i.pinned_deployment_id
  LEFT JOIN (SELECT id, event_json, row_number() OVER (PARTITION BY id ORDER BY appended_at DESC) AS n
    FROM sys_journal_events) e ON e.id = i.id AND e.n = 1
  WHERE i.status IN ('paused', 'backing-off') AND i.target_service_name IN (${names})
    AND (i.last_failure_error_code IN ('RT0016', 'RT0012')
      OR e.event_json LIKE '%RT0016%' OR e.event_json LIKE '%RT0012%')
    AND (d.endpoint IS NULL OR starts_with(d.endpoint, ${quote(base)}))`;

const findInherited = (names: string, { base, own }: { base: string; own: string }) => `
  SELECT i.id, i.status FROM sys_invocation i
  JOIN sys_deployment d ON d.id = i.pinned_deployment_id
  WHERE i.status <> 'completed' AND i.target_service_name IN (${names})
    AND starts_with(d.endpoint, ${quote(base)}) AND d.endpoint NOT IN (${quote(own)}, ${quote(`${own}/`)})`;
