/** Locks in the database for what only one process may do. */
import { isEngineInstalled } from "#api/analytics/engine/is-installed.ts";
import type { Config } from "#config.ts";
import { holdSessionLocks, type SessionLock } from "#kernel/session-locks.ts";
import type { Base } from "./base.ts";
import { hasProcessFleet } from "./fleets.ts";
import type { Stops } from "./stops.ts";

/** The state files of sentinels are on one machine, so a second worker would start the same sentinels again. */
const processFleet: SessionLock = {
  number: 1,
  refusal: (holder) =>
    `a worker whose fleet.driver is "process" is already running on this database (${holder}); two would ` +
    "deploy the same sentinels twice: end that one first, or give this one a database of its own " +
    "(database.url), or leave out its role worker (--role)",
};

/** Queries read one store only, so rows must not be spread over the stores of several machines. */
const embeddedAnalytics: SessionLock = {
  number: 2,
  refusal: (holder) =>
    "an api process with an embedded analytics store is already running on this database " +
    `(${holder}); with two, each store would have a part of the rows: set clickhouse.url (CLICKHOUSE_URL) ` +
    "for all of them, or analytics.enabled = false for this one, whose calls are then not recorded",
};

export type SoleParts = {
  roles: readonly string[];
  /** Of Postgres itself. */
  directUrl: string;
  /** Whether `directUrl` may be a pooler's. */
  mayBePooled: boolean;
  stops: Stops;
};

/** Throws an error that says what to do when another process holds one of the locks. */
export async function requireSoleProcess(base: Base, parts: SoleParts): Promise<void> {
  const { directUrl: url, mayBePooled, roles, stops } = parts;
  const { config, log, fail } = base;
  const locks = locksOf(config, { roles, hasEngine: isEngineInstalled() });
  const held = await holdSessionLocks({ url, mayBePooled, locks, log, onTaken: fail });
  stops.add("session locks", held.release);
}

type Settings = Parameters<typeof hasProcessFleet>[0] & {
  analytics: Pick<Config["analytics"], "enabled">;
  clickhouse: Pick<Config["clickhouse"], "url">;
};

export function locksOf(
  { analytics, clickhouse, ...fleets }: Settings,
  { roles, hasEngine }: { roles: readonly string[]; hasEngine: boolean },
): SessionLock[] {
  const runsFleet = roles.includes("worker") && hasProcessFleet(fleets);
  const storesRows =
    roles.includes("api") && analytics.enabled && clickhouse.url === "" && hasEngine;
  return [...(runsFleet ? [processFleet] : []), ...(storesRows ? [embeddedAnalytics] : [])];
}
