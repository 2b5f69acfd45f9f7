import type { Change, DefinitionSource, DefinitionsProblemCode } from "#definitions/contract.ts";
import {
  type DefinitionSet,
  emptySet,
  keyOf,
  type Section,
  sectionNames,
  sections,
} from "#definitions/rows/contract.ts";
import { isChange } from "#definitions/rules/plan.ts";
import { type AuditRecord, actorOf, recordAudit } from "#kernel/audit.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";

export type Revision = {
  revision: number;
  /** The id of the call that applied it, whose step may be repeated. */
  applyId: string;
  source: DefinitionSource;
  appliedBy: string;
  /** ISO 8601. */
  appliedAt: string;
  set: DefinitionSet;
};

export type NewRevision = Omit<Revision, "appliedAt"> & { changes: Change[] };

export type DefinitionStore = ReturnType<typeof createDefinitionStore>;

export function createDefinitionStore(database: Database, log: Log) {
  return {
    /** The revision in force; null: nothing was ever applied. */
    async readCurrent(): Promise<Revision | null> {
      const { rows } = await database.query<Row>(selectCurrent);
      const [row] = rows;
      return row === undefined ? null : toRevision(row, log);
    },

    /** Its `applyId` alone: a Postgres that was restored may have given a number twice. */
    async readApplyId(): Promise<string | null> {
      const { rows } = await database.query(selectCurrentApplyId);
      return rows[0]?.apply_id ?? null;
    },

    /** Writes the next revision, and drops old ones; true: by this call. Throws a problem when Postgres refuses the data. */
    async write(next: NewRevision): Promise<boolean> {
      const { revision, applyId, source, appliedBy, set, changes } = next;
      const values = [revision, applyId, source, appliedBy, JSON.stringify(set)];
      await database.query(insert, [...values, JSON.stringify(changes)]).catch(refuseData);
      const { rows } = await database.query(selectApplyId, [revision]);
      const isOurs = rows[0]?.apply_id === applyId;
      if (isOurs) await recordAudit(database, [toAudit(next)]);
      await database.query(dropOld, [revision - keptRevisions]);
      return isOurs;
    },
  };
}

const namedChanges = 200;

/** Names the rows that changed, not what they say: a repeated step of the same call writes no second record. */
function toAudit({ revision, applyId, source, appliedBy, changes }: NewRevision): AuditRecord {
  const changed = changes.filter(isChange);
  const named = changed.slice(0, namedChanges);
  return {
    event: "definitions.apply",
    description: `Applied revision ${revision} of the definitions: ${changed.length} rows changed`,
    actor: source === "command" ? actorOf(appliedBy) : { type: "system", id: appliedBy },
    targets: [{ type: "definitions", id: String(revision) }],
    meta: { source, changes: named, ...(named.length < changed.length && { of: changed.length }) },
    key: `definitions:${applyId}:${revision}`,
  };
}

/** Classes of SQLSTATE: data exception, program limit exceeded. */
const refusedData = /^(?:22|54)/;

function refuseData(cause: Error & { code?: string }): never {
  if (!refusedData.test(cause.code ?? "")) throw cause;
  throw new ProblemError<DefinitionsProblemCode>({
    status: 400,
    code: "invalid_definitions",
    detail: `the database refuses these definitions: ${cause.message}`,
  });
}

const keptRevisions = 100;

const selectCurrent = "SELECT * FROM definitions ORDER BY revision DESC LIMIT 1";
const selectCurrentApplyId = "SELECT apply_id FROM definitions ORDER BY revision DESC LIMIT 1";
const selectApplyId = "SELECT apply_id FROM definitions WHERE revision = $1";
const dropOld = "DELETE FROM definitions WHERE revision <= $1";

const insert = `
  INSERT INTO definitions (revision, apply_id, source, applied_by, rows, changes)
  VALUES ($1, $2, $3, $4, $5::jsonb, $6::jsonb) ON CONFLICT (revision) DO NOTHING`;

type Row = {
  revision: number;
  apply_id: string;
  source: DefinitionSource;
  applied_by: string;
  applied_at: Date;
  rows: Partial<Record<Section, unknown[]>>;
};

function toRevision(row: Row, log: Log): Revision {
  const { revision, apply_id, source, applied_by, applied_at, rows } = row;
  const read = sectionNames.map((section) => [section, readRows(section, rows[section], log)]);
  return {
    revision,
    applyId: apply_id,
    source,
    appliedBy: applied_by,
    appliedAt: applied_at.toISOString(),
    set: { ...emptySet, ...Object.fromEntries(read) },
  };
}

/** Parsed again: a row of another version may lack fields with defaults; one not understood is left out. */
function readRows(section: Section, rows: unknown[] = [], log: Log): object[] {
  return rows.flatMap((row) => {
    const parsed = sections[section].row.safeParse(row);
    if (parsed.success) return [parsed.data];
    // Not `key`: the log hides what has that name.
    const id = keyOf(section, row as object);
    log.error({ section, row: id }, "a row of the definitions is not understood by this version");
    return [];
  });
}
