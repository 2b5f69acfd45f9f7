/** What only one process of a database may do, held by locks in it. */
import { hasEmbeddedEngine } from "#api/analytics/engine/embedded-engine.ts";
import type { Config } from "#config.ts";
import { holdSessionLocks, type SessionLock } from "#kernel/session-locks.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

/** Each state file of a sentinel is on one machine: of two workers each would start the same sentinels. */
const processFleet: SessionLock = {
  number: 1,
  refusal: (holder) =>
    `a worker whose fleet.driver is "process" is at work on this database already (${holder}); two would ` +
    "deploy the same sentinels twice: end that one first, or give this one a database of its own " +
    "(database.url), or leave its role worker out (--role)",
};

/** Rows that are spread over the stores of several machines are found by no query. */
const embeddedAnalytics: SessionLock = {
  number: 2,
  refusal: (holder) =>
    `an api process that keeps analytics in its own embedded store is at work on this database already ` +
    `(${holder}); of two each would have some of the rows: set clickhouse.url (CLICKHOUSE_URL) at all of ` +
    "them, or analytics.enabled = false at this one, whose calls are then not recorded",
};

export type SoleParts = {
  roles: readonly string[];
  /** Of Postgres itself. */
  directUrl: string;
  /** Whether `directUrl` may be a pooler's all the same. */
  mayBePooled: boolean;
  stops: Stops;
};

/** Throws a line that says what to do when another process is at work already. */
export async function requireSoleProcess(base: Base, parts: SoleParts): Promise<void> {
  const { directUrl: url, mayBePooled, roles, stops } = parts;
  const { config, log, fail } = base;
  const locks = locksOf(config, { roles, hasEngine: hasEmbeddedEngine() });
  const held = await holdSessionLocks({ url, mayBePooled, locks, log, onTaken: fail });
  stops.add("session locks", held.release);
}

type Settings = {
  fleet: Pick<Config["fleet"], "driver">;
  analytics: Pick<Config["analytics"], "enabled">;
  clickhouse: Pick<Config["clickhouse"], "url">;
};

export function locksOf(
  { fleet, analytics, clickhouse }: Settings,
  { roles, hasEngine }: { roles: readonly string[]; hasEngine: boolean },
): SessionLock[] {
  const runsFleet = roles.includes("worker") && fleet.driver === "process";
  const keepsRows =
    roles.includes("api") && analytics.enabled && clickhouse.url === "" && hasEngine;
  return [...(runsFleet ? [processFleet] : []), ...(keepsRows ? [embeddedAnalytics] : [])];
}
