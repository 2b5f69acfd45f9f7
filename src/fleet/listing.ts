/** Lists the fleet: requests its list, checks and stores it, and refreshes it in the background. */
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs, pause, unlessLate } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { FleetMember, FleetProblemCode } from "./contract.ts";
import { type Driver, type ListedSentinel, UnreachableError } from "./drivers/driver.ts";
import { type Confirmation, type ListMetrics, type ListStore, requireCount } from "./list-store.ts";

export type ListingParts = {
  driver: Pick<Driver, "list">;
  store: ListStore;
  metrics: ListMetrics;
  log: Log;
};

export type FleetListing = {
  /** Lists now. Throws `UnreachableError`, or `fleet_list_refused` for too many missing sentinels; writes nothing then. */
  list: () => Promise<FleetMember[]>;
  /** Like `list`, but accepts any list with exactly `count` sentinels, else `fleet_list_changed`. `by`: the operator. */
  confirm: (count: number, by: string) => Promise<FleetMember[]>;
  isKnown: () => Promise<boolean>;
  /** Why the newest list was not accepted; null: it was. */
  problem: () => Promise<string | null>;
  confirmation: () => Promise<Confirmation | null>;
  /** Lists `everyMs` after each success, and sooner after a failure, until stopped. */
  refreshEvery: (everyMs: number) => { first: Promise<void>; stop: () => Promise<void> };
};

/** A fleet whose list takes longer than this cannot be listed. */
const listTimeoutMs = 300_000;
const retries = { firstMs: 2_000, longestMs: 30_000 };

export function createFleetListing(parts: ListingParts): FleetListing {
  const { driver, store, metrics } = parts;
  const request = async () => {
    const askedAt = await ofDatabase(store.readClock());
    return { askedAt, sentinels: distinct(await listInTime(driver)) };
  };
  const take = async (work: () => Promise<FleetMember[]>) => {
    try {
      const members = await work();
      metrics.succeeded(members.length);
      return members;
    } catch (error) {
      if (isMistyped(error)) throw error;
      metrics.failed();
      await store.recordProblem((error as Error).message).catch(() => {});
      throw error;
    }
  };
  const list = () => take(async () => ofDatabase(store.write(await request())));
  return {
    list,
    confirm: (count, by) =>
      take(async () => {
        const dated = await request();
        requireCount(dated.sentinels.length, count);
        return ofDatabase(store.write(dated, by));
      }),
    isKnown: store.isKnown,
    problem: store.readProblem,
    confirmation: store.readConfirmation,
    refreshEvery: (everyMs) => refreshEvery(list, { everyMs, log: parts.log }),
  };
}

/** One entry per sentinel, of several the last: the list may change while it is read page by page. */
export function distinct(listed: readonly ListedSentinel[]): ListedSentinel[] {
  return [...new Map(listed.map((sentinel) => [sentinel.id, sentinel])).values()];
}

/** True if an operator confirmed a wrong number, which is not a failure of the fleet. */
function isMistyped(error: unknown): boolean {
  const code: FleetProblemCode = "fleet_list_changed";
  return error instanceof ProblemError && error.code === code;
}

/** Names the database in its errors, so that they are not taken for errors of the fleet. */
async function ofDatabase<Answer>(work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    const { message } = error as Error;
    throw new Error(`the database cannot be reached: ${message}`, { cause: error });
  }
}

function listInTime(driver: Pick<Driver, "list">): Promise<ListedSentinel[]> {
  const late = new UnreachableError(
    `unreachable: the fleet's list took longer than ${listTimeoutMs / 1_000} seconds`,
  );
  return unlessLate((signal) => driver.list(signal), { limitMs: listTimeoutMs, late });
}

function refreshEvery(list: FleetListing["list"], { everyMs, log }: { everyMs: number; log: Log }) {
  const stopping = new AbortController();
  const first = Promise.withResolvers<void>();
  const run = async () => {
    let failures = 0;
    let problem: string | undefined;
    while (!stopping.signal.aborted) {
      const before = problem;
      problem = await list().then(
        () => undefined,
        (error: Error) => error.message,
      );
      first.resolve();
      logChange(log, before, problem);
      failures = problem === undefined ? 0 : failures + 1;
      const retryMs = failures === 0 ? everyMs : backoffMs(failures - 1, retries);
      await pause(Math.min(retryMs, everyMs), stopping.signal);
    }
  };
  const ended = run();
  return {
    first: first.promise,
    stop: async () => {
      stopping.abort();
      // Does not wait for a list in progress: its fleet may not answer for minutes.
      await Promise.race([ended, sleep(1_000, undefined, { ref: false })]);
    },
  };
}

/** Logs when the fleet can no longer be listed, when the cause changes, and when it can again. */
function logChange(log: Log, before: string | undefined, problem: string | undefined): void {
  if (problem === before) return;
  if (problem !== undefined) log.warn({ detail: problem }, "fleet not listed");
  else log.info("fleet listed again");
}
