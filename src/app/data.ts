/** Wires the database: who may use it, and its schema. */
import { isEngineInstalled } from "#api/analytics/engine/is-installed.ts";
import {
  claimRing,
  compareRing,
  refuseForeign,
  type Verdict,
} from "#api/keys/recoverable/ring-claim.ts";
import { findSealed, findSealing } from "#api/operator/reseal.ts";
import type { Config } from "#config.ts";
import {
  type Database,
  inTransaction,
  migrate,
  openDatabase,
  readMissingMigrations,
} from "#kernel/database.ts";
import { namingSetting } from "#kernel/database-faults.ts";
import { holdSessionLocks, type SessionLock } from "#kernel/session-locks.ts";
import type { Base } from "./base.ts";
import { hasProcessFleet } from "./fleets.ts";
import { createBaseKeyRing } from "./https.ts";
import type { Stops } from "./stops.ts";

export type ApiDatabase = {
  database: Database;
  databaseUrl: string;
  /** Address of Postgres itself, even if `databaseUrl` is a pooler's. */
  directUrl: string;
};

type DataParts = {
  roles: readonly string[];
  /** postgres://…, maybe with a password. */
  url: string;
  stops: Stops;
  /** Called once it is sure that this program may use the database, before its schema is changed. */
  onAllowed: () => void;
};

/** Opens the database, unless this process may not use it, and brings its schema up to date. */
export async function openData(
  base: Base,
  { roles, url, stops, onAllowed }: DataParts,
): Promise<ApiDatabase> {
  const { config, log } = base;
  const { direct_url } = config.database;
  const directUrl = direct_url || url;
  const mayBePooled = direct_url !== "";
  const { ofPool, ofDirect } = databaseSettings(config);
  await namingSetting(ofDirect, () =>
    requireSoleProcess(base, { roles, directUrl, mayBePooled, stops }),
  );
  const database = openDatabase(url, log);
  stops.add("database", () => database.end());
  await namingSetting(ofPool, async () => {
    await refuseOtherKeys(base, { roles, database });
    await readMissingMigrations(database);
  });
  onAllowed();
  await namingSetting(ofDirect, () => migrate(directUrl, log, { mayBePooled }));
  await claimEncryptionKeys(base, { roles, database });
  return { database, databaseUrl: url, directUrl };
}

/** The settings by which errors of Postgres are named; empty addresses: it is the embedded one. */
export function databaseSettings({ database: { url, direct_url } }: Pick<Config, "database">) {
  const ofPool = { setting: "database.url", url };
  return {
    ofPool,
    ofDirect: direct_url === "" ? ofPool : { setting: "database.direct_url", url: direct_url },
  };
}

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

/** Locks in the database for what only one process may do. */
type SoleParts = {
  roles: readonly string[];
  /** Address of Postgres itself. */
  directUrl: string;
  /** True if `directUrl` may be a pooler's. */
  mayBePooled: boolean;
  stops: Stops;
};

/** Throws an error that says what to do when another process holds one of the locks. */
async function requireSoleProcess(base: Base, parts: SoleParts): Promise<void> {
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

/** Throws an error that says what to do when the keys differ. Changes nothing; works before migrations. */
async function refuseOtherKeys(
  base: Base,
  { roles, database }: { roles: readonly string[]; database: Database },
): Promise<void> {
  // The embedded database has no other processes.
  if (base.config.database.url === "" || !isSealing(base.config, roles)) return;
  refuseForeign(await compareRing(database, createBaseKeyRing(base).marks));
}

/** Continues with the embedded database, which no other process has: its earlier keys are lost, but it has to start. */
function refuse({ config, log }: Base, verdict: Verdict): void {
  try {
    refuseForeign(verdict);
  } catch (error) {
    if (config.database.url !== "") throw error;
    log.error({ detail: (error as Error).message }, "recoverable keys cannot be made or shown");
  }
}

/**
 * Like `refuseOtherKeys`, after the migrations; also records these keys as the right ones when no process has
 * done so. A generated key is recorded with the first text that it seals: until then each data directory may
 * have its own.
 */
async function claimEncryptionKeys(
  base: Base,
  { roles, database }: { roles: readonly string[]; database: Database },
): Promise<void> {
  const { config, log } = base;
  if (!isSealing(config, roles)) return;
  const keyRing = createBaseKeyRing(base);
  const isSet = config.api.encryption_keys.length > 0 || config.acme.names.length > 0;
  const state = await inTransaction(database, async (transaction) => {
    const known = await compareRing(transaction, keyRing.marks);
    const sealed = known.state === "first" ? await findSealed(transaction, keyRing) : "none";
    if (sealed === "unopened") return sealed;
    if (known.state === "first" && sealed === "none" && !isSet) return known.state;
    const verdict = await claimRing(transaction, keyRing.marks);
    const id =
      verdict.state === "newer" ? await findSealing(transaction, verdict.dropped) : undefined;
    refuse(base, id === undefined ? verdict : { state: "foreign", id, why: "sealing" });
    return verdict.state;
  });
  if (state === "older") {
    log.warn("another process has a newer key in api.encryption_keys: restart with the same keys");
  }
  if (state === "unopened") {
    log.warn("api.encryption_keys do not open the sealed data: check database.url and the keys");
  }
}

/** True if a process with these roles seals anything. */
function isSealing({ acme }: Pick<Config, "acme">, roles: readonly string[]): boolean {
  return roles.includes("api") || (roles.includes("worker") && acme.names.length > 0);
}
