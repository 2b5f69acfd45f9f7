/** All checks as they stand now, read at most once in a while however many ask. */
import type { Database } from "#kernel/database.ts";
import type { Definitions } from "#monitor/contract.ts";
import type { CheckList } from "./contract.ts";
import { listChecks } from "./list.ts";
import type { ResultReader } from "./read.ts";
import { readAlertTime, readDays } from "./uptime.ts";

export type ViewChecks = () => Promise<CheckList>;

type Parts = {
  database: Database;
  reader: ResultReader;
  definitions: Definitions;
  failedAtPercent: number;
  nowMs: () => number;
};

/**
 * What is this fresh is given out again, as is what is still being read: strangers may ask, and a read is
 * four queries.
 */
const freshMs = 2_000;

export function createViewChecks(parts: Parts): ViewChecks {
  let last: { atMs: number; list: Promise<CheckList>; isOver: boolean } | undefined;
  return () => {
    const atMs = parts.nowMs();
    if (last !== undefined && (!last.isOver || isFresh(last.atMs, atMs))) return last.list;
    const list = readAll(parts, atMs);
    const current = { atMs, list, isOver: false };
    last = current;
    list.then(
      () => {
        current.isOver = true;
        // One that took long would be too old when it comes, and nobody ever answered.
        current.atMs = parts.nowMs();
      },
      // A failure is told to whoever waits for it, and not to the next who asks.
      () => {
        last = undefined;
      },
    );
    return list;
  };
}

/** What is of a time to come was read before the clock went back. */
function isFresh(readAtMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - readAtMs) < freshMs;
}

async function readAll(parts: Parts, nowMs: number): Promise<CheckList> {
  const { database, reader, definitions, failedAtPercent } = parts;
  const [snapshots, days, alertTime] = await Promise.all([
    reader.snapshots(),
    readDays(database, { nowMs, failedAtPercent }),
    readAlertTime(database, nowMs),
  ]);
  return listChecks({ definitions, snapshots, days, alertTime, nowMs });
}
