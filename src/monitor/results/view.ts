/** The current list of checks, cached for a short time. */
import type { Database } from "#kernel/database.ts";
import type { ReadDefinitions } from "#monitor/contract.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import type { CheckList } from "./contract.ts";
import { listChecks, type WhyNobody } from "./list.ts";
import type { ResultReader } from "./read.ts";
import { readAlertTime, readDays } from "./uptime.ts";

export type ViewChecks = () => Promise<CheckList>;

type Parts = {
  database: Database;
  reader: ResultReader;
  readDefinitions: ReadDefinitions;
  whyOff: WhyOff;
  whyNobody?: WhyNobody;
  failedAtPercent: number;
  nowMs: () => number;
};

/** A list is cached so long, and reads are shared: callers need no authentication, and a read is four queries. */
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
        // The age counts from the end of the read: a slow list would else be stale when it arrives.
        current.atMs = parts.nowMs();
      },
      // A failure is not cached: only the callers that wait for this read get it.
      () => {
        last = undefined;
      },
    );
    return list;
  };
}

/** A time in the future is of a read before the clock was set back. */
function isFresh(readAtMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - readAtMs) < freshMs;
}

async function readAll(parts: Parts, nowMs: number): Promise<CheckList> {
  const { database, reader, readDefinitions, whyOff, whyNobody, failedAtPercent } = parts;
  const [definitions, snapshots, days, alertTime] = await Promise.all([
    readDefinitions(),
    reader.snapshots(),
    readDays(database, { nowMs, failedAtPercent }),
    readAlertTime(database, nowMs),
  ]);
  const why = { whyOff, ...(whyNobody !== undefined && { whyNobody }) };
  return listChecks({ definitions, ...why, snapshots, days, alertTime, nowMs });
}
