/** Tables of rows that operators add and remove: windows, pins and promotions. */
import { actorOf, recordAudit } from "#kernel/audit.ts";
import { type Database, inTransaction } from "#kernel/database.ts";
import { ProblemError } from "#kernel/problem.ts";

export type Listed<Row> = Row & { added_by: string; added_at: string };

/** `fleet`: absent: of every fleet. */
type FleetRow = { id: string; fleet?: string | undefined };

export type RowKind<Row extends FleetRow, Code extends string> = {
  table: string;
  /** The value of each column, the same for rows that mean the same. */
  columns: Record<string, (row: Row) => unknown>;
  fromColumns: (columns: Record<string, unknown>) => Row;
  /** The maximal number of rows of a fleet: one fleet's operators take no room from another's. */
  most: number;
  /** The name of a row in messages: "window". */
  word: string;
  codes: Record<"exists" | "tooMany" | "unknown", Code>;
  /** Throws a `ProblemError` for a row that does not fit the others; absent: each does. */
  check?: (known: readonly Row[], added: Row) => void;
};

export type RowStore<Row> = {
  list: () => Promise<Listed<Row>[]>;
  find: (id: string) => Promise<Listed<Row> | null>;
  /** Adding the same one again changes nothing. Throws 409 for another one with this id, and for too many. */
  add: (row: Row, by: string) => Promise<Listed<Row>>;
  /** Removes this one; another that has its id by now stays. */
  remove: (row: Listed<Row>, how: { by: string; reason: string }) => Promise<void>;
  /** Returns the problem for an id that no row has. */
  unknown: (id: string) => ProblemError;
};

export function createRowStore<Row extends FleetRow, Code extends string>(
  database: Database,
  kind: RowKind<Row, Code>,
): RowStore<Row> {
  const { table, columns, fromColumns, most, word, codes } = kind;
  const valuesOf = (row: Row) => Object.values(columns).map((read) => read(row) ?? null);
  const insert = insertInto(table, Object.keys(columns));
  const refuse = (status: number, code: Code, detail: string) =>
    new ProblemError<Code>({ status, code, detail });

  const auditOf = (verb: "add" | "remove", id: string, of: { by: string; meta: object }) => ({
    event: `${word}.${verb}`,
    description: `${verb === "add" ? "Added" : "Removed"} ${word} ${id}`,
    actor: actorOf(of.by),
    targets: [{ type: word, id }],
    meta: { ...of.meta },
  });

  const list = async (): Promise<Listed<Row>[]> => {
    const { rows } = await database.query(`SELECT * FROM ${table} ORDER BY id`);
    return rows.map(({ added_by, added_at, ...row }) => ({
      ...fromColumns(row),
      added_by,
      added_at: added_at.toISOString(),
    }));
  };
  const find = async (id: string) => (await list()).find((row) => row.id === id) ?? null;

  return {
    list,
    find,
    async add(row, by) {
      await inTransaction(database, async (transaction) => {
        // Two that are added at the same time would not see each other.
        await transaction.query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`);
        const { rows } = await transaction.query(`SELECT * FROM ${table}`);
        const others = rows.map(fromColumns);
        kind.check?.(others, row);
        const isFull = others.filter(({ fleet }) => fleet === row.fleet).length >= most;
        if (isFull) return;
        const { rowCount } = await transaction.query(insert, [...valuesOf(row), by]);
        if (rowCount === 1)
          await recordAudit(transaction, [auditOf("add", row.id, { by, meta: row })]);
      });
      const known = await find(row.id);
      const whose = row.fleet === undefined ? "of every fleet" : `of the fleet ${row.fleet}`;
      const tooMany = `there are ${most} ${word}s ${whose} already: remove one that is over`;
      if (known === null) throw refuse(409, codes.tooMany, tooMany);
      if (JSON.stringify(valuesOf(known)) === JSON.stringify(valuesOf(row))) return known;
      throw refuse(409, codes.exists, `there is another ${word} ${row.id}: remove it first`);
    },
    async remove({ id, added_at }, { by, reason }) {
      const remove = `DELETE FROM ${table} WHERE id = $1 AND date_trunc('milliseconds', added_at) = $2`;
      await inTransaction(database, async (transaction) => {
        const { rowCount } = await transaction.query(remove, [id, added_at]);
        if (rowCount !== 1) return;
        await recordAudit(transaction, [auditOf("remove", id, { by, meta: { reason } })]);
      });
    },
    unknown: (id) =>
      refuse(404, codes.unknown, `there is no ${word} ${id}; vedette ${word}s list shows them`),
  };
}

function insertInto(table: string, columns: readonly string[]): string {
  const values = [...columns, "added_by"].map((_, i) => `$${i + 1}`);
  const names = [...columns, "added_by"].join(", ");
  return `INSERT INTO ${table} (${names}) VALUES (${values.join(", ")}) ON CONFLICT (id) DO NOTHING`;
}
