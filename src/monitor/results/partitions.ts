/** The monthly partitions of `check_results`: created ahead of time, dropped when all their rows are too old. */
import { type Database, inTransaction } from "#kernel/database.ts";

const monthsAhead = 2;

/** A lock over all processes: two that create the same partition would deadlock. */
const lockKey = 4_707_001;

type PartitionSpan = {
  nowMs: number;
  /** The time from which `keepDays` are counted back. */
  trustedMs?: number;
  keepDays: number;
};

/** Creates the partitions of the last, this and the next two months, and drops those before `keepDays`. */
export async function managePartitions(
  database: Database,
  { nowMs, trustedMs = nowMs, keepDays }: PartitionSpan,
): Promise<void> {
  await inTransaction(database, async (client) => {
    await client.query("SELECT pg_advisory_xact_lock($1)", [lockKey]);
    // All results queue behind it while it waits, for a backup for example. It is tried again in a minute.
    await client.query("SET LOCAL lock_timeout = '500ms'");
    const oldestMs = trustedMs - keepDays * 86_400_000;
    for (let offset = -1; offset <= monthsAhead; offset += 1) {
      const month = monthOf(nowMs, offset);
      if (!isOver(nameOf(month), oldestMs)) await client.query(createPartition(month));
    }
    const { rows } = await client.query<{ name: string }>(listPartitions);
    for (const name of rows.map((row) => row.name).filter((name) => isOver(name, oldestMs))) {
      await client.query(`DROP TABLE ${name}`);
    }
  });
}

/** Writes results of these times; if the partition of one is missing, creates it and writes them again. */
export async function withPartitions<Written>(
  database: Database,
  { timesMs, write }: { timesMs: readonly number[]; write: () => Promise<Written> },
): Promise<Written> {
  try {
    return await write();
  } catch (error) {
    if (!isWithoutPartition(error)) throw error;
    for (const atMs of oneOfEachMonth(timesMs)) await makePartition(database, atMs);
    return write();
  }
}

function oneOfEachMonth(timesMs: readonly number[]): number[] {
  return [...new Map(timesMs.map((atMs) => [nameOf(monthOf(atMs, 0)), atMs])).values()];
}

/** Postgres reports "no partition of relation found for row" with the code of a violated constraint. */
function isWithoutPartition(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "23514" && message?.includes("no partition of relation") === true;
}

/** Creates the partition of a result's month. */
async function makePartition(database: Database, atMs: number): Promise<void> {
  try {
    await database.query(createPartition(monthOf(atMs, 0)));
  } catch (error) {
    // IF NOT EXISTS does not detect that another process creates it at the same moment.
    if (!alreadyExists.has((error as { code?: string }).code ?? "")) throw error;
  }
}

/** Postgres: duplicate_table, and unique_violation in its catalogue. */
const alreadyExists = new Set(["42P07", "23505"]);

type Month = { year: number; month: number };

function monthOf(atMs: number, offset: number): Month {
  const date = new Date(atMs);
  const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1));
  return { year: first.getUTCFullYear(), month: first.getUTCMonth() };
}

function nameOf({ year, month }: Month): string {
  return `check_results_${year}_${String(month + 1).padStart(2, "0")}`;
}

function createPartition(of: Month): string {
  const { year, month } = of;
  const startsAt = new Date(Date.UTC(year, month, 1)).toISOString();
  const endsAt = new Date(Date.UTC(year, month + 1, 1)).toISOString();
  return `CREATE TABLE IF NOT EXISTS ${nameOf(of)} PARTITION OF check_results FOR VALUES FROM ('${startsAt}') TO ('${endsAt}')`;
}

/** True if every row of the partition is older than `oldestMs`. */
function isOver(name: string, oldestMs: number): boolean {
  const match = /^check_results_(\d{4})_(\d{2})$/.exec(name);
  // The start of the next month: the digits count from 1, `Date.UTC` from 0.
  return match !== null && Date.UTC(Number(match[1]), Number(match[2]), 1) <= oldestMs;
}

const listPartitions = `
  SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'check_results'::regclass ORDER BY 1`;
