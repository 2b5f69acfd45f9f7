/** The fleet's own list: asked for, checked, written down, and kept up in the background. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { unlessLate } from "#kernel/unless-aborted.ts";
import type { FleetMember, FleetProblemCode } from "./contract.ts";
import { type Driver, type ListedSentinel, UnreachableError } from "./drivers/driver.ts";
import type { ListMetrics } from "./list-metrics.ts";
import { requireCount } from "./list-refusal.ts";
import type { ListStore } from "./list-store.ts";

export type ListingParts = {
  driver: Pick<Driver, "list">;
  store: ListStore;
  metrics: ListMetrics;
  log: Log;
};

export type FleetListing = {
  /**
   * Lists the fleet now. Throws `UnreachableError` when it does not answer, `fleet_list_refused` when
   * it suddenly lacks too many sentinels: nothing is written then.
   */
  list: () => Promise<FleetMember[]>;
  /** As `list`, but takes a list however short, if it has exactly `count` sentinels; else `fleet_list_changed`. */
  confirm: (count: number) => Promise<FleetMember[]>;
  /** Why the newest list was not taken; null when nothing is wrong. */
  problem: () => Promise<string | null>;
  /** Lists again and again, `everyMs` after a success and sooner after a failure, until stopped. */
  keepUp: (everyMs: number) => { first: Promise<void>; stop: () => Promise<void> };
};

/** A fleet whose list takes longer than this cannot be listed. */
const listTimeoutMs = 300_000;
const firstRetryMs = 1_000;
const lastRetryMs = 30_000;

export function createFleetListing(parts: ListingParts): FleetListing {
  const { driver, store, metrics } = parts;
  const ask = async () => {
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
      await store.keepProblem((error as Error).message).catch(() => {});
      throw error;
    }
  };
  const list = () => take(async () => ofDatabase(store.write(await ask())));
  return {
    list,
    confirm: (count) =>
      take(async () => {
        const asked = await ask();
        requireCount(asked.sentinels.length, count);
        return ofDatabase(store.write(asked, { isConfirmed: true }));
      }),
    problem: store.readProblem,
    keepUp: (everyMs) => keepUp(list, { everyMs, log: parts.log }),
  };
}

/** One entry a sentinel. Of two the later one counts: a list is read page by page while it changes. */
export function distinct(listed: readonly ListedSentinel[]): ListedSentinel[] {
  return [...new Map(listed.map((sentinel) => [sentinel.id, sentinel])).values()];
}

/** A number that someone has confirmed and that is not the fleet's: it says nothing of the fleet. */
function isMistyped(error: unknown): boolean {
  const code: FleetProblemCode = "fleet_list_changed";
  return error instanceof ProblemError && error.code === code;
}

/** Says whose trouble it is: whoever reads it would look for it at the fleet. */
async function ofDatabase<Answer>(work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ProblemError) throw error;
    const { message } = error as Error;
    throw new Error(`the database cannot be asked: ${message}`, { cause: error });
  }
}

function listInTime(driver: Pick<Driver, "list">): Promise<ListedSentinel[]> {
  const late = new UnreachableError(
    `unreachable: the fleet's list took longer than ${listTimeoutMs / 1_000} seconds`,
  );
  return unlessLate((signal) => driver.list(signal), { limitMs: listTimeoutMs, late });
}

function keepUp(list: FleetListing["list"], { everyMs, log }: { everyMs: number; log: Log }) {
  const stopping = new AbortController();
  const first = Promise.withResolvers<void>();
  const run = async () => {
    let retryMs = firstRetryMs;
    let problem: string | undefined;
    while (!stopping.signal.aborted) {
      const before = problem;
      problem = await list().then(
        () => undefined,
        (error: Error) => error.message,
      );
      first.resolve();
      tell(log, before, problem);
      retryMs = problem === undefined ? firstRetryMs : Math.min(retryMs * 2, lastRetryMs);
      const pauseMs = problem === undefined ? everyMs : Math.min(retryMs, everyMs);
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };
  const ended = run();
  return {
    first: first.promise,
    stop: async () => {
      stopping.abort();
      // A list under way is left behind: its fleet may not answer for minutes.
      await Promise.race([ended, sleep(1_000, undefined, { ref: false })]);
    },
  };
}

/** Says once that the fleet cannot be listed, or again when the cause is another one. */
function tell(log: Log, before: string | undefined, problem: string | undefined): void {
  if (problem === before) return;
  if (problem !== undefined) log.warn({ detail: problem }, "fleet not listed");
  else log.info("fleet listed again");
}
